"""The rules that need the clients' own word, on the hour of `client_groups`, with members, routes and offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.rules import catalog
from spark_jobs.domain.rules.rule import severity_by_harm
from tests.conformance.histories.audited import Audited
from tests.support.client_groups import GROUPS, TIMES, Group, client_snapshots
from tests.support.snapshots import membership, offsets, route
from tests.support.tables import measures, seconds

CLUSTER = "clients"
RULES = {"GHOST_MEMBER", "CLIENT_HUNG", "ALLOCATION_DRIFT", "FLOW_CONTROLLED", "ORDERLY_LOCK_MISSING", "SLOW_LISTENER"}

#: What must be found, all of it: group, rule, cause, first and last second, queues.
EXPECTED = """
silent      CLIENT_HUNG          NO_ANSWER        100 320 0,1
silent-60   CLIENT_HUNG          NO_ANSWER        100 160 0,1
ghost       GHOST_MEMBER         NOT_IN_GROUP     100 320 0,1
ghost-60    GHOST_MEMBER         NOT_IN_GROUP     100 160 0,1
no-pull     CLIENT_HUNG          NO_PULL          220 240 0,1
more        ALLOCATION_DRIFT     HOLDS_MORE       200 280 2
less        ALLOCATION_DRIFT     HOLDS_LESS       200 280 1
joined-late ALLOCATION_DRIFT     HOLDS_MORE       220 260 2,3
grown-late  ALLOCATION_DRIFT     HOLDS_LESS       250 300 2,3
unlocked    ORDERLY_LOCK_MISSING NOT_LOCKED       200 240 0,1
full        FLOW_CONTROLLED      CACHED_MESSAGES  200 280 0,1
full-unlisted FLOW_CONTROLLED    CACHED_MESSAGES  200 280 0,1
busy        SLOW_LISTENER        ALL_THREADS_BUSY 200 320 -
slower      SLOW_LISTENER        RESPONSE_TIME_ROSE 200 320 -
slower-since SLOW_LISTENER       RESPONSE_TIME_ROSE 0 60 -
"""


def snapshots() -> Iterator[tuple[Table, dict[str, Any]]]:
    """All groups, each on a topic of its name."""
    for name, group in GROUPS.items():
        yield from _of_group(name, group)


def _of_group(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    if group.recorded:
        for second in TIMES:
            yield MEMBERSHIP_SNAPSHOTS, membership(second, *group.cids(second), group=name, topics=(name,))
            yield ROUTE_SNAPSHOTS, route(second, group.queues(second), topic=name)
            # Whose offset moves is pulled.
            consumed = 100 + (min(second, 180) if name == "no-pull" else second)
            samples = [(100 + second, consumed, 1)] * group.queues(second)
            yield OFFSET_SNAPSHOTS, offsets(second + 1, *samples, topic=name, group=name)
    yield from ((CLIENT_SNAPSHOTS, said) for said in client_snapshots(name, group))


def test_each_rule_fires_where_it_must_and_nowhere_else(audited: Audited) -> None:
    found = set()
    for row in audited.findings[CLUSTER]:
        if row["rule"] in RULES:
            times = (str(seconds(row[name])) for name in ("started_at", "ended_at"))
            queues = ",".join(str(queue["queue_id"]) for queue in row["evidence"]["queues"]) or "-"
            found.add((row["consumer_group"], row["rule"], row["cause"], *times, queues))
            subject = f"b:{queues.replace(',', '-')}" if row["rule"] == "ALLOCATION_DRIFT" else "c1"
            assert (row["subject"], row["evidence"]["client_ids"]) == (subject, ["c1"]), row
    assert found == {tuple(line.split()) for line in EXPECTED.strip().splitlines()}


def test_rules_about_clients_need_their_snapshots_and_most_are_as_bad_as_the_harm() -> None:
    needs = {rule.name: rule.needs for rule in catalog.RULES if rule.needs}
    notes = {"CLOCK_DIFFERS", "LONG_PULL_INTERVAL", "OFFSET_HELD_BACK"}
    assert needs == dict.fromkeys(RULES | notes | {"NEAR_CAPACITY"}, (CLIENT_SNAPSHOTS.name,))
    by_harm = {rule.name for rule in catalog.RULES if rule.name in RULES and rule.severity is severity_by_harm}
    assert by_harm >= {"GHOST_MEMBER", "CLIENT_HUNG", "ALLOCATION_DRIFT", "ORDERLY_LOCK_MISSING"}


def test_messages_make_it_an_error_and_throttling_is_a_warning(audited: Audited) -> None:
    severities = {row["rule"]: row["severity"] for row in audited.findings[CLUSTER] if row["rule"] in RULES}
    assert severities == dict.fromkeys(RULES, "ERROR") | dict.fromkeys(("FLOW_CONTROLLED", "SLOW_LISTENER"), "WARN")


def test_the_measures_are_those_of_the_worst_moment(audited: Audited) -> None:
    found = {
        row["consumer_group"]: measures(row["evidence"])
        for row in audited.findings[CLUSTER]
        if row["rule"] in ("FLOW_CONTROLLED", "SLOW_LISTENER")
    }
    full = {"cached_count": 1001, "cached_mib": 0, "cached_span": 0, "limit": 1000}
    slower = {"consume_rt_ms": 200, "pull_rt_ms": 50, "usual_consume_rt_ms": 20, "usual_pull_rt_ms": 50}
    busy = {"busy_threads": 1, "consume_threads": 1, "consume_rt_ms": 400, "pull_rt_ms": 1}
    assert found == {"full": full, "full-unlisted": full, "busy": busy, "slower": slower, "slower-since": slower}
