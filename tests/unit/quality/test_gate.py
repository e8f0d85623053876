"""The rows of the kernel pass the gate, and a row that is there twice does not.

`tests/spark/jobs/test_run.py` sees that nothing is published then.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from expectations import BY_TABLE
from expectations.suite import KEYS_ARE_UNIQUE
from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, REBALANCE_INTERVALS, ROUTE_SNAPSHOTS, Table
from spark_jobs.pipeline.publish.rows import tables
from spark_jobs.pipeline.quality.facts import BROKEN, by_name, facts_of_outputs
from tests.support.kernel import evaluated
from tests.support.snapshots import membership, offsets, route
from tests.support.times import HOUR
from tests.unit.expectations.cases import SETTINGS

Row = dict[str, Any]


def history() -> dict[Table, list[Row]]:
    """Healthy members of which one comes and goes, twins, and a group whose backlog grows: 7 queues each. A topic that
    nobody may read for 20 minutes.
    """
    rows: dict[Table, list[Row]] = {MEMBERSHIP_SNAPSHOTS: [], ROUTE_SNAPSHOTS: [], OFFSET_SNAPSHOTS: []}
    members = {"healthy": ("a", "b", "c"), "twins": ("a", "a", "b"), "slow": ("a", "b")}
    for second in range(0, 3600, 20):
        rows[ROUTE_SNAPSHOTS].append(route(second, 7))
        for group, ids in members.items():
            present = ids[:2] if group == "healthy" and 1200 <= second < 2400 else ids
            rows[MEMBERSHIP_SNAPSHOTS].append(membership(second, *present, group=group))
            consumed = 100 + second // 2 if group == "slow" else 100 + second
            rows[OFFSET_SNAPSHOTS].append(offsets(second, *[(150 + second, consumed, 1)] * 7, group=group))
        is_hidden, of_topic = 1200 <= second < 2400, {"topic": "hidden", "group": "refused"}
        hosts = route(second, 1, topic="hidden")
        hosts["queues"][0]["perm"] = 2 if is_hidden else 6
        rows[ROUTE_SNAPSHOTS].append(hosts)
        rows[MEMBERSHIP_SNAPSHOTS].append(membership(second, "a", group="refused", topics=("hidden",)))
        rows[OFFSET_SNAPSHOTS].append(
            offsets(second, (150 + second, 1280 if is_hidden else 100 + second, 1), **of_topic)
        )
    return rows


@pytest.fixture(scope="module")
def written() -> dict[str, pa.Table]:
    """The rows of all groups, as they would be written."""
    return tables(evaluated(history(), HOUR))


def broken_in(rows: Mapping[str, pa.Table]) -> set[tuple[str, str]]:
    """Table and name of every expectation that is broken."""
    suites = {table.name: suite for table, suite in BY_TABLE.items()}
    facts = ((fact, by_name(suites[fact.table_name], fact)) for fact in facts_of_outputs(rows, SETTINGS))
    return {(fact.table_name, name) for fact, counts in facts for name, count in counts[BROKEN].items() if count}


def test_what_the_kernel_evaluates_keeps_every_expectation(written: Mapping[str, pa.Table]) -> None:
    """Each fails alone on rows that break it: `tests/unit/expectations`."""
    assert all(rows.num_rows for rows in written.values())
    assert broken_in(written) == set()


@pytest.mark.parametrize("table", OUTPUTS, ids=lambda table: table.name)
def test_a_row_that_is_there_twice_is_caught(written: Mapping[str, pa.Table], table: Table) -> None:
    """An interval that is there twice overlaps itself: only rows that keep the other rules have a key twice."""
    rows = written[table.name].to_pylist()
    name = "intervals_of_a_view_do_not_overlap" if table is REBALANCE_INTERVALS else KEYS_ARE_UNIQUE.name
    repeated = pa.Table.from_pylist([*rows, rows[-1]], written[table.name].schema)
    assert (table.name, name) in broken_in({**written, table.name: repeated})
