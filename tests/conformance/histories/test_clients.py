"""The rules that need the clients' reports, on the hour of `client_groups`, with members, routes and offsets."""

from collections.abc import Iterator
from typing import Any

from schemas import CLIENT_SNAPSHOTS, FINDINGS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.rules import catalog
from spark_jobs.domain.rules.rule import severity_by_harm
from tests.support.client_groups import GROUPS, TIMES, Group, client_snapshots
from tests.support.kernel import published
from tests.support.snapshots import by_table, membership, offsets, route
from tests.support.tables import cells, line
from tests.support.times import HOUR

RULES = {"GHOST_MEMBER", "CLIENT_HUNG", "ALLOCATION_DRIFT", "FLOW_CONTROLLED", "ORDERLY_LOCK_MISSING", "SLOW_LISTENER"}

#: All that must be found: group, rule, cause, severity, first and last second, queues. Messages make it an error.
EXPECTED = """
    silent        | CLIENT_HUNG          | NO_ANSWER          | ERROR | 100 | 320 | 0,1
    silent-60     | CLIENT_HUNG          | NO_ANSWER          | ERROR | 100 | 160 | 0,1
    ghost         | GHOST_MEMBER         | NOT_IN_GROUP       | ERROR | 100 | 320 | 0,1
    ghost-60      | GHOST_MEMBER         | NOT_IN_GROUP       | ERROR | 100 | 160 | 0,1
    no-pull       | CLIENT_HUNG          | NO_PULL            | ERROR | 220 | 240 | 0,1
    more          | ALLOCATION_DRIFT     | HOLDS_MORE         | ERROR | 200 | 280 | 2
    less          | ALLOCATION_DRIFT     | HOLDS_LESS         | ERROR | 200 | 280 | 1
    joined-late   | ALLOCATION_DRIFT     | HOLDS_MORE         | ERROR | 220 | 260 | 2,3
    grown-late    | ALLOCATION_DRIFT     | HOLDS_LESS         | ERROR | 250 | 300 | 2,3
    unlocked      | ORDERLY_LOCK_MISSING | NOT_LOCKED         | ERROR | 200 | 240 | 0,1
    full          | FLOW_CONTROLLED      | CACHED_MESSAGES    | WARN  | 200 | 340 | 0,1
    full-unlisted | FLOW_CONTROLLED      | CACHED_MESSAGES    | WARN  | 200 | 340 | 0,1
    busy          | SLOW_LISTENER        | ALL_THREADS_BUSY   | WARN  | 200 | 320 |
    busy-shared   | SLOW_LISTENER        | ALL_THREADS_BUSY   | WARN  | 200 | 320 |
    busy-evenly   | SLOW_LISTENER        | ALL_THREADS_BUSY   | WARN  | 200 | 320 |
    slower        | SLOW_LISTENER        | RESPONSE_TIME_ROSE | WARN  | 200 | 320 |
    slower-since  | SLOW_LISTENER        | RESPONSE_TIME_ROSE | WARN  | 0   | 60  |
"""


def snapshots(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    """A group on a topic of its name."""
    if group.recorded:
        for second in TIMES:
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *group.cids(second), group=name, topics=(name,))
            yield ROUTE_SNAPSHOTS, route(second, group.queues(second), topic=name)
            # Whose offset moves is pulled, and by a process that runs.
            stops_at = 180 if name == "no-pull" else 100 if name.startswith("silent") else second
            consumed = 100 + min(second, stops_at)
            samples = [(100 + second, consumed, 1)] * group.queues(second)
            yield OFFSET_SNAPSHOTS, offsets(second + 1, *samples, topic=name, group=name)
    yield from ((CLIENT_SNAPSHOTS, reported) for reported in client_snapshots(name, group))


def test_each_rule_fires_where_it_must_and_nowhere_else() -> None:
    tables = published(by_table(row for name, group in GROUPS.items() for row in snapshots(name, group)), HOUR)
    found = set()
    for row in tables[FINDINGS]:
        if row["rule"] in RULES:
            queues = ",".join(str(queue["queue_id"]) for queue in row["evidence"]["queues"])
            columns = ("consumer_group", "rule", "cause", "severity", "started_at", "ended_at")
            found.add((*line(row, *columns), queues))
            subject = f"b:{queues.replace(',', '-')}" if row["rule"] == "ALLOCATION_DRIFT" else "c1"
            assert (row["subject"], row["evidence"]["client_ids"]) == (subject, ["c1"]), row
    assert found == set(cells(EXPECTED))


def test_rules_about_clients_need_their_snapshots_and_most_are_as_severe_as_the_harm() -> None:
    needs = {rule.name: rule.needs for rule in catalog.RULES if rule.needs}
    notes = {"CLOCK_DIFFERS", "FILTER_MATCHES_NOTHING", "LONG_PULL_INTERVAL", "OFFSET_HELD_BACK"}
    assert needs == dict.fromkeys(RULES | notes | {"NEAR_CAPACITY"}, (CLIENT_SNAPSHOTS.name,))
    by_harm = {rule.name for rule in catalog.RULES if rule.name in RULES and rule.severity is severity_by_harm}
    assert by_harm >= {"GHOST_MEMBER", "CLIENT_HUNG", "ALLOCATION_DRIFT", "ORDERLY_LOCK_MISSING"}
