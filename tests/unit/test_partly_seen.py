"""A step of which little was seen: `status`, `explain` and the report show its share, and what is unknown. No Spark."""

from pathlib import Path

import pytest

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.report import report
from spark_jobs.show.status import with_share
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope
from tests.support.commands import Typed
from tests.support.times import at
from tests.support.two_clusters import END, write_two_clusters

#: The exit code is about silence and age, too. Of the hour from 11:00 on, 400 s of `b` are observed, and all of `a`.
SHOWN = (0, 1, 2)
ADVICE = "Unknown: 11 % of the step was observed."

HOURS = Interval(at(0), at(END))


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    write_two_clusters(folder)
    return folder


def test_only_a_share_below_the_complete_one_hides_what_is_known() -> None:
    row = {"cluster": "b", "backlog_end": 7, "bottleneck": "NO_BACKLOG", "advice": "No.", "finding_count": 3}
    assert with_share(row, 0.9, 0.9) == row | {"observed_share": 0.9}
    assert with_share(row, None, 0.9) == row | {"observed_share": None}
    hidden = {"backlog_end": None, "bottleneck": "UNKNOWN_MEMBERS", "advice": "Unknown: 89 % of the step was observed."}
    assert with_share(row, 0.899, 0.9) == row | hidden | {"observed_share": 0.899}


def test_status_shows_the_share_of_each_group(warehouse: Path, typed: Typed) -> None:
    lines = typed("status --all", warehouse=warehouse, code=SHOWN).out.splitlines()
    of_group = {cluster: next(line for line in lines if f"cluster={cluster} " in line) for cluster in "ab"}
    assert "observed 100 %, 2 members, queues: 4 with one owner" in of_group["a"]
    assert "observed 11 %, unknown members, queues: unknown" in of_group["b"]
    assert "observed" not in typed("status --all --cluster a", warehouse=warehouse, code=SHOWN).out.splitlines()[1]


def test_status_of_one_group_names_its_share(warehouse: Path, typed: Typed) -> None:
    of_b = typed("status --group g --cluster b", warehouse=warehouse, code=SHOWN).out
    assert "\n  observed        11 % of the step\n" in of_b
    assert f"\n  more consumers? {ADVICE} (UNKNOWN_MEMBERS)\n" in of_b
    assert "\n  observed " not in typed("status --group g --cluster a", warehouse=warehouse, code=SHOWN).out


def test_explain_knows_nothing_of_the_step_as_a_whole(warehouse: Path, typed: Typed) -> None:
    of_b = typed("explain --group g --cluster b --at 2026-03-01T11:03", warehouse=warehouse, code=SHOWN).out
    assert f"Would more consumers have helped? {ADVICE} (UNKNOWN_MEMBERS)" in of_b
    assert "Backlog unknown → unknown." in of_b
    of_a = typed("explain --group g --cluster a --at 2026-03-01T11:03", warehouse=warehouse, code=SHOWN).out
    assert ADVICE not in of_a
    assert "Backlog 0 → 0." in of_a


def test_the_share_that_counts_as_complete_is_configured(warehouse: Path, tmp_path: Path, typed: Typed) -> None:
    """Below it the numbers are null; above it they are there."""
    file = tmp_path / "lenient.yaml"
    file.write_text("complete_share: 0.1", encoding="utf-8")
    line = "explain --json --group g --cluster b --at 2026-03-01T11:03"
    strict, lenient = (
        typed(f"{line}{config}", warehouse=warehouse, code=SHOWN).document["status"]
        for config in ("", f" --config {file}")
    )
    assert strict["observed_share"] == lenient["observed_share"] == pytest.approx(400 / 3600)
    assert (strict["queue_count"], lenient["queue_count"]) == (None, 4)


def test_the_report_knows_as_little(warehouse: Path) -> None:
    """In the row of the group, and in that of its step."""
    page = report(delta_tables(str(warehouse)), Scope(HOURS), lambda _: None, now=at(END))
    assert page.count(ADVICE) == 2
    assert ADVICE not in report(delta_tables(str(warehouse)), Scope(HOURS, "a"), lambda _: None, now=at(END))
