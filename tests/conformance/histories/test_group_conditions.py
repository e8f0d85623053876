"""Conditions of whole groups, on hand-written histories of ten minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from tests.conformance.histories.audited import Audited
from tests.support.snapshots import membership, offsets, route
from tests.support.tables import cells, line, measures

CLUSTER = "conditions"
TIMES = range(0, 600, 20)
RULES = {
    *("GROUP_OFFLINE", "SUBSCRIPTION_MISMATCH", "MEMBERSHIP_VIEW_SPLIT", "MIXED_CLIENTS"),
    *("BROKER_NOT_READABLE", "LOAD_IMBALANCE", "UNOBSERVED"),
}
Rows = Iterator[tuple[Table, dict[str, Any]]]

#: Every group is its own case; those that are not listed have no finding of these rules.
EXPECTED = """
    split for 80 s       | t-split for 80 s | MEMBERSHIP_VIEW_SPLIT | ERROR | BROKERS_DISAGREE      | 100 | 180
    split for 80 s       | t-split for 80 s | UNASSIGNED_QUEUE      | WARN  | VIEWS_DISAGREE        | 100 | 180
    split, changing      | t-split, changing | MEMBERSHIP_VIEW_SPLIT | ERROR | BROKERS_DISAGREE     | 100 | 180
    split, changing      | t-split, changing | UNASSIGNED_QUEUE      | WARN  | VIEWS_DISAGREE       | 100 | 180
    split, one is over   | t-split, one is over | MEMBERSHIP_VIEW_SPLIT | ERROR | BROKERS_DISAGREE  | 100 | 300
    split, one is over   | t-split, one is over | UNASSIGNED_QUEUE   | WARN  | VIEWS_DISAGREE       | 100 | 300
    offline, produced    |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 200 | 400
    offline, backlog     |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 200 | 400
    offline, backlog set |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 200 | 400
    offline from the start |                | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 0   | 400
    offline twice        |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 200 | 300
    offline twice        |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 400 | 500
    offline, two topics  |                  | GROUP_OFFLINE         | ERROR | NO_MEMBERS            | 200 | 400
    flapping             |                  | SUBSCRIPTION_MISMATCH | ERROR | DIFFERENT_EXPRESSIONS | 200 | 380
    many topics          |                  | LOAD_IMBALANCE        | INFO  | REMAINDERS            | 0   | 640
    hot topic            |                  | LOAD_IMBALANCE        | INFO  | UNEQUAL_TRAFFIC       | 0   | 640
    write only, backlog  | t-write only, backlog | BROKER_NOT_READABLE | ERROR | NO_READ_PERMISSION | 200 | 640
    gone, backlog        | t-gone, backlog  | BROKER_NOT_READABLE   | ERROR | LEFT_ROUTE            | 200 | 640
    no members, 200 to 300 |                | UNOBSERVED            | WARN  | NO_SNAPSHOTS          | 240 | 300
    no offsets, 200 to 300 |                | UNOBSERVED            | WARN  | NO_SNAPSHOTS          | 240 | 300
    nothing, 200 to 300  |                  | UNOBSERVED            | WARN  | NO_SNAPSHOTS          | 240 | 300
"""


def _between(second: int, start: int, end: int) -> bool:
    return start <= second < end


def _hosted(
    group: str, second: int, brokers: Iterable[tuple[str, int | None]], queues: int = 4
) -> tuple[Table, dict[str, Any]]:
    """The route of the group's topic: brokers with their permission."""
    row = route(second, queues, topic=f"t-{group}")
    row["queues"] = [{**row["queues"][0], "broker_name": name, "perm": perm} for name, perm in brokers]
    return ROUTE_SNAPSHOTS, row


def _listed(group: str, second: int, *ids: str, broker: str = "b") -> tuple[Table, dict[str, Any]]:
    return MEMBERSHIP_SNAPSHOTS, membership(second, *ids, group=group, broker=broker, topics=[f"t-{group}"])


def _split(group: str, changes: dict[str, dict[int, str | None]], *, model: str = "CLUSTERING") -> Rows:
    """Broker b lists c1 and c2, the others what they list from each second on (None: not heard); all are asked at
    once. They host the group's retry topic, too.
    """
    brokers = ["b", *changes]
    for second in TIMES:
        for topic in (f"t-{group}", f"%RETRY%{group}"):
            table, row = _hosted(group, second, [(broker, 6) for broker in brokers])
            yield table, {**row, "topic": topic}
        for broker in brokers:
            lists = {0: "c1 c2", **changes.get(broker, {})}
            ids = next(ids for since, ids in sorted(lists.items(), reverse=True) if since <= second)
            if ids is not None:
                table, row = _listed(group, second, *ids.split(), broker=broker)
                retry = {**row["subscriptions"][0], "topic": f"%RETRY%{group}"} if ids else None
                subscriptions = [*row["subscriptions"], *([retry] if retry else [])]
                yield table, {**row, "subscriptions": subscriptions, "message_model": model if ids else None}


#: Queue 0 at a second: next offset to write, to consume, last timestamp.
Reading = Callable[[int], tuple[int, int, int]]


def _offline(group: str, reading: Reading, *, since: int = 200, until: int = 400, model: str = "CLUSTERING") -> Rows:
    """Nobody for a while."""
    for second in TIMES:
        ids = () if _between(second, since, until) else ("c1",)
        yield _hosted(group, second, [("b", 6)], queues=1)
        table, row = _listed(group, second, *ids)
        yield table, {**row, "message_model": model if ids else None}
        yield OFFSET_SNAPSHOTS, offsets(second, reading(second), topic=f"t-{group}", group=group)


def _produced(second: int) -> tuple[int, int, int]:
    """A message a second from 200 to 400 s; never committed."""
    return max(0, min(second, 400) - 200), 0, 0


def _elsewhere(group: str) -> Rows:
    """A broker that does not host the topic lists somebody."""
    yield from _offline(group, _produced)
    yield from (_listed(group, second, "c1", broker="x") for second in TIMES)


def _twice(group: str) -> Rows:
    """Nobody from 200 to 300 s and from 400 to 500 s; a message a second all the time."""
    for second in TIMES:
        away = _between(second, 200, 300) or _between(second, 400, 500)
        yield _hosted(group, second, [("b", 6)], queues=1)
        yield _listed(group, second, *(() if away else ("c1",)))
        yield OFFSET_SNAPSHOTS, offsets(second, (second, 0, 0), topic=f"t-{group}", group=group)


def _two_topics(group: str) -> Rows:
    """Of which the second gets another queue while nobody is there."""
    topics = [f"t-{group}", f"t2-{group}"]
    for second in TIMES:
        for topic, queues in zip(topics, (1, 1 if second < 300 else 2), strict=True):
            yield ROUTE_SNAPSHOTS, route(second, queues, topic=topic)
            yield OFFSET_SNAPSHOTS, offsets(second, _produced(second), topic=topic, group=group)
        ids = () if _between(second, 200, 400) else ("c1",)
        yield MEMBERSHIP_SNAPSHOTS, membership(second, *ids, group=group, topics=topics)


def _resubscribing(group: str, texts: dict[int, str]) -> Rows:
    """From each second on the broker says another expression."""
    for second in TIMES:
        yield _hosted(group, second, [("b", 6)])
        table, row = _listed(group, second, "c1", "c2")
        row["subscriptions"][0]["sub_string"] = next(text for since, text in reversed(texts.items()) if since <= second)
        yield table, row


def _languages(group: str, second_language: str | None) -> Rows:
    for second in TIMES:
        yield _hosted(group, second, [("b", 6)])
        table, row = _listed(group, second, "c1", "c2")
        row["connections"][1]["language"] = second_language
        yield table, row


def _topics(group: str, queues: int) -> Rows:
    """Three topics and three members: 4 queues each are 2 + 1 + 1."""
    names = [f"t-{group}-{number}" for number in range(3)]
    for second in TIMES:
        yield from ((ROUTE_SNAPSHOTS, route(second, queues, topic=name)) for name in names)
        yield MEMBERSHIP_SNAPSHOTS, membership(second, "c1", "c2", "c3", group=group, topics=names)


def _traffic(group: str, pace: int, *, joins: int = 0) -> Rows:
    """Two queues that get `pace` messages a second, and six that get 1, for three members: 1 + 1 + 0 and 2 + 2 + 2; the
    third joins at `joins`.
    """
    queues = {f"t-{group}-hot": 2, f"t-{group}-cold": 6}
    for second in TIMES:
        members = ("c1", "c2", "c3") if second >= joins else ("c1", "c2")
        yield MEMBERSHIP_SNAPSHOTS, membership(second, *members, group=group, topics=queues)
        for name, count in queues.items():
            end = 1000 + second * (pace if name.endswith("hot") else 1)
            yield ROUTE_SNAPSHOTS, route(second, count, topic=name)
            yield OFFSET_SNAPSHOTS, offsets(second, *[(end, end, 1)] * count, topic=name, group=group)


def _closing(group: str, perm: int | None, reading: tuple[int, int, int]) -> Rows:
    """From 200 s on, broker b has this permission (None: it is gone, and so are the readings)."""
    for second in TIMES:
        closed = second >= 200
        state = perm if closed else 6
        brokers = [("a", 6), *([("b", state)] if state is not None else [])]
        yield _hosted(group, second, brokers)
        yield _listed(group, second, "c1", broker="a")
        if not closed or perm is not None:
            yield OFFSET_SNAPSHOTS, offsets(second, reading, topic=f"t-{group}", group=group)


def _silent(group: str, until: int, *silent: Table) -> Rows:
    """No snapshot in some tables from 200 s on; one holds for 60 s."""
    for second in TIMES:
        rows = [
            _hosted(group, second, [("b", 6)]),
            _listed(group, second, "c1"),
            (OFFSET_SNAPSHOTS, offsets(second, *[(100, 100, 1)] * 4, topic=f"t-{group}", group=group)),
        ]
        yield from ((table, row) for table, row in rows if table not in silent or not _between(second, 200, until))


def snapshots() -> Rows:
    """All groups."""
    yield from _split("split for 80 s", {"b2": {100: "c1 c1", 180: "c1 c2"}})
    yield from _split("split for 40 s", {"b2": {100: "c1", 140: "c1 c2"}})
    yield from _split("split, changing", {"b2": {100: "c1", 140: "c2", 180: "c1 c2"}})
    yield from _split("split, one is over", {"b2": {100: "c1", 140: None}, "b3": {100: "c2", 300: "c1 c2"}})
    yield from _split("split, broadcasting", {"b2": {100: "c1"}}, model="BROADCASTING")
    yield from _split("b2 came back and lists nobody", {"b2": {100: "", 400: "c1 c2"}})
    yield from _offline("offline, produced", _produced)
    yield from _offline("offline, backlog", lambda _: (100, 90, 1))
    yield from _offline("offline, backlog set", lambda second: (100, 90 if second < 300 else 100, 1))
    yield from _offline("offline from the start", lambda _: (100, 90, 1), since=0)
    yield from _offline("offline, nothing to do", lambda _: (100, 100, 1))
    yield from _offline("offline, unknown", lambda _: (100, 0, 0))
    yield from _offline("offline, broadcasting", lambda _: (100, 90, 1), since=0, model="BROADCASTING")
    yield from _elsewhere("offline but elsewhere")
    yield from _twice("offline twice")
    yield from _two_topics("offline, two topics")
    yield from (_listed("nobody, of no topic", second) for second in TIMES if second < 400)
    yield from _resubscribing("flapping", {0: "A", 200: "B", 240: "A", 280: "B", 300: "A"})
    yield from _resubscribing("changed once", {0: "A", 200: "B"})
    yield from _languages("go and java", "GO")
    yield from _languages("java and unknown", None)
    yield from _topics("many topics", 4)
    yield from _topics("topics without remainder", 3)
    yield from _traffic("hot topic", 4)
    yield from _traffic("warm topic", 3)
    yield from _traffic("hot topic, a member joins", 4, joins=200)
    yield from _closing("write only, backlog", 2, (100, 90, 1))
    yield from _closing("write only, nothing there", 2, (100, 100, 1))
    yield from _closing("write only, unknown", 2, (100, 0, 0))
    yield from _closing("read only, backlog", 4, (100, 90, 1))
    yield from _closing("gone, backlog", None, (100, 90, 1))
    yield from _closing("gone, nothing there", None, (100, 100, 1))
    yield from _silent("no members, 200 to 300", 300, MEMBERSHIP_SNAPSHOTS)
    yield from _silent("no offsets, 200 to 300", 300, OFFSET_SNAPSHOTS)
    yield from _silent("nothing, 200 to 300", 300, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)
    yield from _silent("nothing, 200 to 240", 240, MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)


def test_each_fires_where_it_must_and_nowhere_else(audited: Audited) -> None:
    found = list(filter(_is_meant, audited.findings[CLUSTER]))
    columns = ("consumer_group", "topic", "rule", "severity", "cause", "started_at", "ended_at")
    assert sorted(line(finding, *columns) for finding in found) == sorted(cells(EXPECTED))
    evidence = {finding["consumer_group"]: finding["evidence"] for finding in found if finding["rule"] in RULES}
    # A twin is named once; and those that began the split are named, not who changed in it.
    assert _parties(evidence["split for 80 s"]) == {"b": ["c1", "c2"], "b2": ["c1"]}
    assert _parties(evidence["split, changing"]) == {"b": ["c1", "c2"], "b2": ["c1"]}
    assert _parties(evidence["flapping"]) == {"t-flapping: A": None, "t-flapping: B": None}
    assert _parties(evidence["many topics"]) == {"6 queues": ["c1"], "3 queues": ["c2", "c3"]}
    disputed = {
        finding["consumer_group"]: finding["subject"] for finding in found if finding["cause"] == "VIEWS_DISAGREE"
    }
    # By both lists c1 has the first half, the queues of b; where b3 lists c2 alone, no queue is anybody's by all.
    assert disputed == {
        "split for 80 s": "b2:0-3",
        # From 140 s on, b gives its own queues to c1, and b2 to c2.
        "split, changing": "b:0-3, b2:0-3",
        "split, one is over": "b:0-3, b2:0-3, b3:0-3",
    }
    assert _parties(evidence["no members, 200 to 300"]) == {"membership_snapshots": None}
    assert list(_parties(evidence["nothing, 200 to 300"])) == [
        "membership_snapshots",
        "offset_snapshots: t-nothing, 200 to 300",
        "route_snapshots: t-nothing, 200 to 300",
    ]
    # 580 s of (2 × 1 + 4) and 2 × 1 a second; in each queue 2 and 1.
    assert _parties(evidence["hot topic"]) == {"3,480 messages": ["c2"], "1,160 messages": ["c3"]}
    assert measures(evidence["hot topic"]) == {"most_consumed": 3480, "least_consumed": 1160}
    # Read at 200, 220 … 380 s; what was never committed is an unknown backlog.
    assert measures(evidence["offline, produced"]) == {"produced": 180, "backlog_end": None}
    assert measures(evidence["offline, two topics"]) == {"produced": 2 * 180, "backlog_end": None}
    assert measures(evidence["offline, backlog"]) == {"produced": 0, "backlog_end": 10}
    assert measures(evidence["offline, backlog set"]) == {"produced": 0, "backlog_end": 0}
    assert measures(evidence["gone, backlog"]) == {"last_known_backlog": 10}


def _is_meant(finding: dict[str, Any]) -> bool:
    """All histories end after 580 s, which is UNOBSERVED at INFO for every group."""
    is_end = finding["rule"] == "UNOBSERVED" and finding["severity"] == "INFO"
    return finding["cause"] == "VIEWS_DISAGREE" or (finding["rule"] in RULES and not is_end)


def _parties(evidence: dict[str, Any]) -> dict[str, list[str] | None]:
    return {party["name"]: party["client_ids"] for party in evidence["conflicting_values"]}
