"""How much of a group's step was observed, and of its cluster's; source rows written by hand."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from schemas import CAPTURE_CALLS, CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, CoverageRow, Lack, Missing, cluster_coverage
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.window import HOUR as HOUR_LONG
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.gathered import Rows
from tests.support.kernel import SETTINGS, group_histories
from tests.support.snapshots import client, membership, offsets, route
from tests.support.tables import described, time_spans
from tests.support.times import HOUR, START, at, micros, second_of

#: Seconds between snapshots, each of which holds for three such times.
CADENCE = 20
#: A broker did not answer who the members are.
CALL = {"cluster": "c", "called": "b", "request": "connection", "subject": "g", "outcome": "TIMED_OUT", "error": "late"}
#: By table a snapshot of the group `g`.
SNAPSHOTS: dict[Any, Callable[[int], dict[str, Any]]] = {
    MEMBERSHIP_SNAPSHOTS: lambda second: membership(second, "c1", "c2", listed=True),
    ROUTE_SNAPSHOTS: lambda second: route(second, 4),
    OFFSET_SNAPSHOTS: lambda second: offsets(second, *[(100, 100, 1)] * 4),
    CLIENT_SNAPSHOTS: client,
    CAPTURE_CALLS: lambda second: CALL | {"captured_at": at(second)},
}


def recorded(*times: str) -> Rows:
    """Per table of `SNAPSHOTS` the seconds of the snapshots, as `0..1000 2000..3600`: every 20 seconds."""
    return {
        table: [snapshot(second) for start, end in time_spans(text) for second in range(start, end, CADENCE)]
        for (table, snapshot), text in zip(SNAPSHOTS.items(), times, strict=True)
    }


def coverage_of(history: GroupHistory) -> CoverageRow:
    """Of the step of 10:00, of what was sighted in the day before."""
    settings = replace(SETTINGS, sightings=24 * HOUR_LONG)
    (step,) = evaluate(history, StrategySettings(), settings, to_micros(HOUR.start), to_micros(HOUR.end))
    return step.coverage


def missing_text(row: CoverageRow) -> Iterator[str]:
    for each in row.missing:
        source = each.source.removesuffix("_snapshots")
        yield f"{source} {second_of(each.started_at)}..{second_of(each.ended_at)} {each.reason}"


def text(row: CoverageRow) -> tuple[str, str]:
    """`observed of expected: members routes offsets clients`, and what is missing."""
    seconds = (row.members_seconds, row.routes_seconds, row.offsets_seconds, row.clients_seconds)
    parts = " ".join(f"{each:g}" for each in seconds)
    return f"{row.observed_seconds:g} of {row.expected_seconds:g}: {parts}", ", ".join(missing_text(row))


#: A snapshot holds for 60 s: the last one before 1000 s, at 980 s, until 1040 s.
CASES = """
    everything                | 0..3600            | 0..3600 | 0..3600            | 0..3600 |            | 3600 of 3600: 3600 3600 3600 3600 |
    … but for clients         | 0..3600            | 0..3600 | 0..3600            |         |            | 3600 of 3600: 3600 3600 3600 0 |
    … from before the step    | -600..3600         | -600..3600 | -600..3600      |         |            | 3600 of 3600: 3600 3600 3600 0 |
    the recording begins      | 2400..3600         | 2400..3600 | 2400..3600      |         |            | 1200 of 1200: 1200 1200 1200 0 |
    the recording ends        | 0..1000            | 0..1000 | 0..1000            | 0..1000 |            | 1040 of 3600: 1040 1040 1040 1040 | membership 1040..3600 NO_SNAPSHOTS, offset 1040..3600 NO_SNAPSHOTS, route 1040..3600 NO_SNAPSHOTS
    … before the step         | -3600..-1200       | -3600..-1200 | -3600..-1200  |         |            | 0 of 3600: 0 0 0 0  | membership 0..3600 NO_SNAPSHOTS
    … shortly before the step | -600..0            | -600..0 | -600..0            |         |            | 40 of 3600: 40 40 40 0 | membership 40..3600 NO_SNAPSHOTS, offset 40..3600 NO_SNAPSHOTS, route 40..3600 NO_SNAPSHOTS
    a gap                     | 0..1000 2000..3600 | 0..3600 | 0..3600            |         |            | 2640 of 3600: 2640 3600 3600 0 | membership 1040..2000 NO_SNAPSHOTS
    two gaps, one time        | 0..1000 2000..3600 | 0..3600 | 0..1500 2100..3600 |         |            | 2540 of 3600: 2640 3600 3040 0 | membership 1040..2000 NO_SNAPSHOTS, offset 1540..2100 NO_SNAPSHOTS
    no routes any more        | 0..3600            | 0..1000 | 0..3600            |         |            | 1040 of 3600: 3600 1040 3600 0 | route 1040..3600 NO_SNAPSHOTS
    brokers do not answer     | 0..1000 2000..3600 | 0..3600 | 0..3600            |         | 1000..2000 | 2640 of 3600: 2640 3600 3600 0 | membership 1040..2000 NOT_ANSWERED
    … did at another time     | 0..1000 2000..3600 | 0..3600 | 0..3600            |         | 2100..2200 | 2640 of 3600: 2640 3600 3600 0 | membership 1040..2000 NO_SNAPSHOTS
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("members", "routes", "samples", "clients", "calls", "seconds", "missing"), described(CASES))
def test_coverage_of_a_group(
    members: str, routes: str, samples: str, clients: str, calls: str, seconds: str, missing: str
) -> None:
    (history,) = group_histories(recorded(members, routes, samples, clients, calls))
    assert text(coverage_of(history)) == (seconds, missing)


def test_a_group_that_is_deleted_lacks_nothing() -> None:
    rows = dict(recorded("0..1000", "0..3600", "0..1000", "", ""))
    gone = [membership(second, listed=False) for second in range(1000, 3600, CADENCE)]
    (history,) = group_histories(rows | {MEMBERSHIP_SNAPSHOTS: [*rows[MEMBERSHIP_SNAPSHOTS], *gone]})
    row = coverage_of(history)
    assert (row.expected_seconds, row.observed_seconds, row.missing) == (3600, 3600, [])


def test_first_and_last_snapshot_are_those_of_the_step() -> None:
    (history,) = group_histories(recorded("-100..3600", "20..3600", "0..3580", "", ""))
    row = coverage_of(history)
    assert (row.step_start, row.cluster, row.consumer_group) == (START, "c", "g")
    assert (row.first_snapshot_at, row.last_snapshot_at) == (START, micros(3580))
    (history,) = group_histories(recorded("-3600..-1200", "", "", "", ""))
    row = coverage_of(history)
    assert (row.first_snapshot_at, row.last_snapshot_at) == (None, None)


@pytest.mark.parametrize(
    ("source", "seconds", "reason"),
    [
        (MEMBERSHIPS, [1500], Lack.REJECTED),
        # A snapshot would have held from then on.
        (MEMBERSHIPS, [980], Lack.REJECTED),
        (MEMBERSHIPS, [979], Lack.NO_SNAPSHOTS),
        (MEMBERSHIPS, [0, 2000], Lack.NO_SNAPSHOTS),
        ("route_snapshots", [1500], Lack.NO_SNAPSHOTS),
        (MEMBERSHIPS, [], Lack.NO_SNAPSHOTS),
    ],
)
def test_rejected_snapshots_are_the_reason_for_a_gap_of_their_source(
    source: str, seconds: list[float], reason: Lack
) -> None:
    """The gap is from 1040 s to 2000 s."""
    (history,) = group_histories(recorded("0..1000 2000..3600", "0..3600", "0..3600", "", ""))
    times = np.array([micros(second) for second in seconds], np.int64)
    row = coverage_of(replace(history, rejected={source: times}))
    assert row.missing == [Missing(micros(1040), micros(2000), MEMBERSHIPS, reason)]


def group(name: str, expected: float, missing: str, **values: Any) -> CoverageRow:
    """A group of `d` for `d/g`, else of `c`, without members in these seconds of the step of 10:00."""
    cluster, _, own = name.rpartition("/")
    times = [Missing(micros(start), micros(end), MEMBERSHIPS, Lack.NO_SNAPSHOTS) for start, end in time_spans(missing)]
    observed = expected - sum(each.ended_at - each.started_at for each in times) / SECOND
    row = CoverageRow(START, cluster or "c", own, expected, observed, observed, 0.0, 0.0, 0.0, None, None, times)
    return row._replace(**values)


#: Groups with the seconds expected of them, and those without members.
OF_CLUSTERS = """
    one group                      | g 3600 1000..2000                    | c 2600 of 3600 1000..2000
    one is always seen             | g 3600 1000..2000; h 3600            | c 3600 of 3600
    both miss a part               | g 3600 0..2000; h 3600 1000..3600    | c 2600 of 3600 1000..2000
    one is new, the other is seen  | g 1200; h 3600                       | c 3600 of 3600
    one is new, the other is not   | g 1200; h 3600 2000..2600            | c 3200 of 3600 2000..2400
    all are new                    | g 1200; h 600                        | c 1200 of 1200
    nothing is seen                | g 3600 0..3600                       | c 0 of 3600 0..3600
    two clusters                   | g 3600; d/g 3600 3000..3600          | c 3600 of 3600; d 3000 of 3600 3000..3600
"""


@pytest.mark.parametrize(("groups", "expected"), described(OF_CLUSTERS))
def test_coverage_of_a_cluster(groups: str, expected: str) -> None:
    words = (text.split(maxsplit=2) for text in groups.split("; "))
    rows = cluster_coverage([group(name, float(of), *missing or [""]) for name, of, *missing in words], 3600 * SECOND)
    assert {(row.consumer_group, row.step_start) for row in rows} == {(None, START)}
    assert "; ".join(map(cluster_text, rows)) == expected


def cluster_text(row: CoverageRow) -> str:
    missing = (f" {second_of(each.started_at)}..{second_of(each.ended_at)}" for each in row.missing)
    return f"{row.cluster} {row.observed_seconds:g} of {row.expected_seconds:g}{''.join(missing)}"


def test_a_cluster_has_the_most_of_its_groups() -> None:
    """A missing route or offset of one group is none of the cluster; steps are apart."""
    routes = [Missing(micros(0), micros(600), "route_snapshots", Lack.NO_SNAPSHOTS)]
    one = group("g", 3600, "", routes_seconds=3000.0, offsets_seconds=7.0, first_snapshot_at=micros(5))
    one = one._replace(missing=routes)
    other = group("h", 3600, "", routes_seconds=2000.0, offsets_seconds=8.0, clients_seconds=9.0)
    other = other._replace(first_snapshot_at=micros(3), last_snapshot_at=micros(4))
    later = group("g", 3600, "")._replace(step_start=micros(3600))
    first, second = cluster_coverage([later, one, other], 3600 * SECOND)
    assert (first.routes_seconds, first.offsets_seconds, first.clients_seconds) == (3000, 8, 9)
    assert (first.first_snapshot_at, first.last_snapshot_at) == (micros(3), micros(4))
    assert (first.missing, second.step_start) == ([], micros(3600))
