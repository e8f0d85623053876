"""Usual values of a time of day: median and deviation by hand, on hand-made quality_results."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from expectations import BY_TABLE
from schemas import ALLOCATIONS, MEMBERSHIP_SNAPSHOTS, QUALITY_RESULTS
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.quality.drift import Subject, Usual, usual_values
from spark_jobs.pipeline.quality.step_expectations import ExpectRowsToKeep
from spark_jobs.pipeline.quality.suites import as_usual, suite, suites_of
from spark_jobs.pipeline.quality.validation import validate
from spark_jobs.store.read.delta import delta_tables
from tests.support.snapshots import membership
from tests.support.times import at
from tests.unit.quality.pages import counted

#: Two steps, and the days before them.
INTERVAL = Interval(at(0), at(7200))
TEN, ELEVEN = at(0), at(3600)


def seen(
    table: str, values: Iterable[float], *, column: str | None = None, step: datetime = TEN, checked: float = 0
) -> list[dict[str, Any]]:
    """The values of 1, 2, … days before the step."""
    return [
        (
            {"run_id": "r", "checked_at": at(checked), "step_start": step - timedelta(days=day)}
            | {"table_name": table, "expectation": "null_percent_is_usual" if column else "row_count_is_usual"}
            | {"column_name": column, "severity": "warning", "success": True, "observed_value": float(value)}
            | {"unexpected_count": None, "unexpected_percent": None, "examples": []}
        )
        for day, value in enumerate(values, start=1)
    ]


ROWS = [
    # Median 100; deviations 10 10 0 20 40, so MAD 10; 5 × 1.4826 × 10 = 74.13.
    *seen("spread", [90, 110, 100, 120, 60]),
    # Deviations 1 1 0 2 2: MAD 1, 7.413 is narrower than a tenth of the median.
    *seen("steady", [99, 101, 100, 102, 98]),
    # Of six the median lies between: 105; deviations 5 5 15 15 25 25, MAD 15: 111.195.
    *seen("even", [100, 110, 90, 120, 80, 130]),
    *seen("same", [7] * 14),
    *seen("never", [0] * 5, column="topic"),
    *seen("young", [100] * 4),
    # Reruns: the newest value of each day counts, wherever it stands.
    *seen("rerun", [5] * 5, checked=0),
    *seen("rerun", [100] * 5, checked=120),
    *seen("rerun", [5] * 5, checked=60),
    # Five days, of which one is another hour's, and one is too long ago.
    *seen("hours", [100] * 4),
    *seen("hours", [100], step=ELEVEN - timedelta(hours=2)),
    *seen("long ago", [100] * 4),
    *seen("long ago", [100], step=TEN - timedelta(days=14)),
    # The steps of a run do not tell what is usual in themselves.
    *seen("later", [100] * 5, step=ELEVEN),
    *seen("later", [1] * 1, step=ELEVEN + timedelta(days=1)),
    # Of a column and of the table; other expectations do not count.
    *seen("both", [100] * 5),
    *seen("both", [50] * 5, column="topic"),
    *({**row, "expectation": "keys_are_unique"} for row in seen("other", [100] * 5)),
]


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Usual:
    stored = delta_tables(str(tmp_path_factory.mktemp("drift")))
    stored.append(QUALITY_RESULTS, ROWS)
    return usual_values(stored, INTERVAL, Quality())


@pytest.mark.parametrize(
    ("table", "column", "step", "bounds"),
    [
        ("spread", None, TEN, (25.87, 174.13)),
        ("steady", None, TEN, (90.0, 110.0)),
        ("even", None, TEN, (-6.195, 216.195)),
        ("same", None, TEN, (6.3, 7.7)),
        ("never", "topic", TEN, (0.0, 0.0)),
        ("rerun", None, TEN, (90.0, 110.0)),
        ("later", None, ELEVEN, (90.0, 110.0)),
        ("both", None, TEN, (90.0, 110.0)),
        ("both", "topic", TEN, (45.0, 55.0)),
    ],
)
def test_bounds_are_median_and_deviation(
    usual: Usual, table: str, column: str | None, step: datetime, bounds: tuple[float, float]
) -> None:
    assert usual[Subject(table, column)] == {step: pytest.approx(bounds)}


def test_nothing_is_usual_before_five_days_of_the_same_hour(usual: Usual) -> None:
    assert {subject.table_name for subject in usual}.isdisjoint({"young", "hours", "long ago", "other"})


def test_an_unusual_step_is_a_warning_and_look_back_is_not_looked_at() -> None:
    """4 rows in the step at 10 where 9 to 11 are usual, none at 11 where 5 are; 1 row of look-back before."""
    table = MEMBERSHIP_SNAPSHOTS
    rows = [membership(second) for second in (-20, 0, 20, 40, 60)]
    known = {
        Subject(table.name, None): {TEN: (9.0, 11.0), ELEVEN: (4.5, 5.5)},
        Subject(table.name, "message_model"): {TEN: (90.0, 100.0), ELEVEN: (0.0, 1.0)},
        Subject(table.name, "consume_type"): {TEN: (0.0, 50.0)},
    }
    found = validate([suite(BY_TABLE[table], as_usual(table, known, [TEN, ELEVEN]))], counted(rows)).results
    drift = [one for one in found if one.expectation.endswith("_is_usual")]
    assert {one.severity for one in drift} == {"warning"}

    def observed(one: Result) -> tuple[str | None, datetime, float]:
        return (one.column_name, one.step_start, one.observed_value)

    # Nobody is online in these rows, so what is said of them is null.
    expected = [(None, TEN, 4.0), (None, ELEVEN, 0.0), ("consume_type", TEN, 100.0)]
    assert [observed(one) for one in drift if not one.success] == expected
    assert {observed(one) for one in drift if one.success and one.column_name in (None, "message_model")} == {
        ("message_model", TEN, 100.0)
    }


def test_a_run_of_some_groups_is_not_compared() -> None:
    (expected,) = suites_of([ALLOCATIONS], INTERVAL, Configuration(), None, {})
    assert {type(expectation) for expectation in expected.expectations} == {ExpectRowsToKeep}
