"""The coverage of steps that runs of before published, which had no table of it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas import AUDIT_RUNS, COVERAGE, FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from spark_jobs.api.warehouse import AuditedWarehouse, open_warehouse
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, CoverageRow, Lack, Missing
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.coverage import coverage_rows, silent_in
from spark_jobs.show.former_coverage import former_rows
from spark_jobs.store.read.stored import Filter
from tests.support.published import STATUS, key
from tests.support.rows import finding, interval, member, unobserved
from tests.support.stored import audit_run, write
from tests.support.tables import described, time_spans
from tests.support.times import START, at, micros, second_of

HOUR = Interval(at(0), at(3600))
OLD_TABLES = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)


def lacking(group: str, seconds: str, cause: str = "NO_SNAPSHOTS", sources: Sequence[str] = (MEMBERSHIPS,)) -> Any:
    """Findings UNOBSERVED of these times of the hour of 10:00."""
    named = {"conflicting_values": [{"name": name, "client_ids": None} for name in sources] or None}
    for start, end in time_spans(seconds):
        time = {"started_at": at(start), "ended_at": at(end), "cause": cause, "evidence": named}
        yield finding(rule="UNOBSERVED", severity="INFO", finding_id=f"{group}{start}") | key(group) | time


def intervals(group: str, seconds: str) -> Iterator[Mapping[str, Any]]:
    """Of two topics, observed, or not (`!0..600`)."""
    for word in seconds.split():
        ((start, end),) = time_spans(word.removeprefix("!"))
        row = unobserved(start, end) if word.startswith("!") else interval(start, end, member("c1"))
        yield from (row | key(group) | {"topic": topic} for topic in ("T", "U"))


def published(
    warehouse: Path,
    groups: Sequence[str],
    replayed: Sequence[Mapping[str, Any]] = (),
    findings: Sequence[Mapping[str, Any]] = (),
    **of_run: Any,
) -> AuditedWarehouse:
    """The hour of 10:00 as a run left it that knew of no coverage."""
    write(warehouse, GROUP_STATUS, [key(group) | STATUS for group in groups])
    write(warehouse, REBALANCE_INTERVALS, replayed)
    write(warehouse, FINDINGS, findings)
    write(warehouse, AUDIT_RUNS, [audit_run(HOUR, {table.name: 0 for table in OLD_TABLES}, **of_run)])
    return open_warehouse(warehouse)


def text(row: CoverageRow) -> str:
    """`g 1000 of 3600 1000..3600`, of a group, or `*` of a cluster."""
    times = (f" {second_of(each.started_at)}..{second_of(each.ended_at)}" for each in row.missing)
    name = row.consumer_group or "*"
    return f"{name} {row.observed_seconds:g} of {row.expected_seconds:g}{''.join(times)}"


#: What | when the group was observed, and not (!) | when the rule found snapshots missing | the group and the cluster.
CASES = """
    whole                      | 0..3600            |            | g 3600 of 3600, * 3600 of 3600
    ended                      | 0..1000            | 1000..3600 | g 1000 of 3600 1000..3600, * 1000 of 3600 1000..3600
    a gap                      | 0..1000 2000..3600 | 1000..2000 | g 2600 of 3600 1000..2000, * 2600 of 3600 1000..2000
    began in the hour          | 2400..3600         |            | g 1200 of 1200, * 1200 of 1200
    … and ended                | 2400..3000         | 3000..3600 | g 600 of 1200 3000..3600, * 600 of 1200 3000..3600
    nothing was seen           |                    | 0..3600    | g 0 of 3600 0..3600, * 0 of 3600 0..3600
    … the rule found nothing   | !0..3600           |            | g 0 of 3600 0..3600, * 0 of 3600 0..3600
    … at the end               | 0..2700 !2700..3600 |           | g 2700 of 3600 2700..3600, * 2700 of 3600 2700..3600
    … before it began          | !0..600 600..3600  |            | g 3000 of 3000, * 3000 of 3000
    it has no topic            |                    |            | g 3600 of 3600, * 3600 of 3600
"""


@pytest.mark.parametrize(("seen", "missing", "expected"), described(CASES))
def test_rows_by_what_else_was_published(seen: str, missing: str, expected: str, tmp_path: Path) -> None:
    blind = " ".join(f"!{time}" for time in missing.split())
    warehouse = published(tmp_path, ["g"], [*intervals("g", f"{seen} {blind}")], [*lacking("g", missing)])
    rows = coverage_rows(warehouse.published, [START])
    assert ", ".join(map(text, rows)) == expected
    assert {(row.cluster, row.step_start) for row in rows} == {("c", START)}
    assert coverage_rows(warehouse.published, [micros(3600)]) == coverage_rows(warehouse.published, [START], "d") == []


def test_why_something_was_missing_is_what_the_rule_says(tmp_path: Path) -> None:
    """A silent broker is no gap of the group: others answered."""
    findings = [
        *lacking("g", "0..1000", "NOT_ANSWERED"),
        *lacking("g", "2000..2100", "SILENT_BROKER", ["offset_snapshots: T (b)"]),
        *lacking("g", "3000..3600", "NO_SNAPSHOTS", ["offset_snapshots: T", "route_snapshots: U"]),
    ]
    warehouse = published(tmp_path, ["g"], [*intervals("g", "!0..1000 1000..3600")], findings)
    group, _ = coverage_rows(warehouse.published, [START])
    assert group.missing == [
        Missing(micros(0), micros(1000), MEMBERSHIPS, Lack.NOT_ANSWERED),
        Missing(micros(3000), micros(3600), "offset_snapshots", Lack.NO_SNAPSHOTS),
        Missing(micros(3000), micros(3600), "route_snapshots", Lack.NO_SNAPSHOTS),
    ]
    assert (group.expected_seconds, group.observed_seconds) == (3600, 2000)


@pytest.mark.parametrize(
    ("sources", "silent"),
    [
        (["membership_snapshots"], {"c": [(micros(1000), micros(3600))]}),
        (["membership_snapshots", "route_snapshots: T"], {"c": [(micros(1000), micros(3600))]}),
        # What an older run published without its sources.
        ([], {"c": [(micros(1000), micros(3600))]}),
        # Its members were known.
        (["offset_snapshots: T", "route_snapshots: T"], {}),
    ],
)
def test_a_cluster_is_silent_if_members_are_missing(sources: list[str], silent: dict[str, Any], tmp_path: Path) -> None:
    findings = [*lacking("g", "1000..3600", sources=sources)]
    warehouse = published(tmp_path, ["g"], [*intervals("g", "0..3600")], findings)
    assert silent_in(warehouse.published, None, None) == silent


def test_a_group_that_is_seen_keeps_its_cluster_from_silence(tmp_path: Path) -> None:
    replayed = [*intervals("g", "0..1000 !1000..3600"), *intervals("h", "0..3600")]
    warehouse = published(tmp_path, ["g", "h"], replayed, [*lacking("g", "1000..3600")])
    rows = coverage_rows(warehouse.published, [START])
    assert [*map(text, rows)] == ["g 1000 of 3600 1000..3600", "h 3600 of 3600", "* 3600 of 3600"]
    assert silent_in(warehouse.published, None, None) == {}


@pytest.mark.parametrize(
    ("of_run", "names"),
    [
        ({}, ["g", "h", "*"]),
        ({"cluster": "c"}, ["g", "h", "*"]),
        ({"cluster": "d"}, []),
        ({"consumer_group": "g"}, ["g"]),
        ({"cluster": "c", "topic": "T"}, ["g", "h"]),
    ],
)
def test_a_cluster_has_a_row_if_all_its_groups_were_audited(
    of_run: dict[str, Any], names: list[str], tmp_path: Path
) -> None:
    warehouse = published(tmp_path, ["g", "h"], [], **of_run)
    assert [row.consumer_group or "*" for row in coverage_rows(warehouse.published, [START])] == names


def test_steps_with_the_table_are_those_of_the_table(tmp_path: Path) -> None:
    """A later run published the hour with its coverage: it alone counts."""
    warehouse = published(tmp_path, ["g"], [*intervals("g", "0..1000 !1000..3600")], [*lacking("g", "1000..3600")])
    seconds = ("expected_seconds", "observed_seconds", "members_seconds", "routes_seconds", "offsets_seconds")
    row = key("g") | dict.fromkeys((*seconds, "clients_seconds"), 3600.0) | {"missing": []}
    write(tmp_path, COVERAGE, [row, row | {"consumer_group": None}])
    versions = {table.name: 0 for table in (*OLD_TABLES, COVERAGE)}
    write(tmp_path, AUDIT_RUNS, [audit_run(HOUR, versions, finished_at=at(9 * 3600))])
    found = coverage_rows(warehouse.published, [START])
    assert sorted(map(text, found)) == ["* 3600 of 3600", "g 3600 of 3600"]


def test_without_former_runs_nothing_is_read(tmp_path: Path) -> None:
    """There are no tables that could be read."""
    write(tmp_path, AUDIT_RUNS, [audit_run(HOUR, {table.name: 0 for table in (*OLD_TABLES, COVERAGE)})])
    assert former_rows(open_warehouse(tmp_path).published, None, [Filter("step_start", "=", at(0))]) == []
