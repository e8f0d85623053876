"""Conditions of whole groups, on hand-written histories of ten minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

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


#: A queue at a second: next offset to write, to consume, last timestamp; None: not read.
Sample = Callable[[int], tuple[int, int, int] | None]
T = TypeVar("T")


class Topic(NamedTuple):
    """How many queues it has on each broker from each second on, and what is read of those that it had at first."""

    queues: Mapping[int, int]
    sample: Sample | None = None


@dataclass(frozen=True)
class Group:
    """What each broker lists from each second on (None: not heard), the topics by what stands before the group's name,
    and the brokers' permissions from each second on (None: not in the route), where they are not 6; what is said of the
    subscription to the first topic, and the language of the second member; tables without a snapshot since 200 s.
    """

    listed: Mapping[str, Mapping[int, str | None]]
    topics: Mapping[str, Topic]
    perms: Mapping[str, Mapping[int, int | None]] = field(default_factory=dict)
    model: str = "CLUSTERING"
    expressions: Mapping[int, str] = field(default_factory=lambda: {0: "*"})
    language: str | None = "JAVA"
    silent: Sequence[Table] = ()
    silent_until: int = 300


def _produced(second: int) -> tuple[int, int, int]:
    """A message a second from 200 to 400 s; never committed."""
    return max(0, min(second, 400) - 200), 0, 0


def _pace(messages: int) -> Sample:
    """So many messages a second, consumed at once."""
    return lambda second: (1000 + messages * second, 1000 + messages * second, 1)


AWAY = {"b": {0: "c1", 200: "", 400: "c1"}}
TWO: Mapping[str, Mapping[int, str]] = {"b": {0: "c1 c2"}}
THREE = {"b": {0: "c1 c2 c3"}}
FOUR_QUEUES = {"t-": Topic({0: 4})}


def _split(model: str = "CLUSTERING", **others: Mapping[int, str | None]) -> Group:
    """Brokers that list something else than `b` does; they host the group's retry topic, too."""
    listed = {broker: {0: "c1 c2", **lists} for broker, lists in {"b": {}, **others}.items()}
    return Group(listed, {"t-": Topic({0: 4}), "%RETRY%": Topic({0: 4})}, model=model)


def _offline(sample: Sample, listed: Mapping[str, Mapping[int, str]] = AWAY, **more: Any) -> Group:
    return Group(listed, {"t-": Topic({0: 1}, sample)}, **more)


def _traffic(pace: int, listed: Mapping[str, Mapping[int, str]] = THREE) -> Group:
    """Two queues that get so many messages a second, and six that get 1: of three members 1 + 1 + 0 and 2 + 2 + 2."""
    return Group(listed, {"hot-": Topic({0: 2}, _pace(pace)), "cold-": Topic({0: 6}, _pace(1))})


def _closing(perm: int | None, offset: int, last_timestamp: int = 1) -> Group:
    """From 200 s on, broker b has this permission, or is gone, and so are the samples. 100 messages were written."""

    def sample(second: int) -> tuple[int, int, int] | None:
        return (100, offset, last_timestamp) if perm is not None or second < 200 else None

    return Group({"a": {0: "c1"}}, {"t-": Topic({0: 1}, sample)}, perms={"b": {0: 6, 200: perm}})


def _silent(*silent: Table, until: int = 300) -> Group:
    """A snapshot holds for 60 s."""
    return Group({"b": {0: "c1"}}, {"t-": Topic({0: 4}, lambda _: (100, 100, 1))}, silent=silent, silent_until=until)


GROUPS = {
    "split for 80 s": _split(b2={100: "c1 c1", 180: "c1 c2"}),
    "split for 40 s": _split(b2={100: "c1", 140: "c1 c2"}),
    "split, changing": _split(b2={100: "c1", 140: "c2", 180: "c1 c2"}),
    "split, one is over": _split(b2={100: "c1", 140: None}, b3={100: "c2", 300: "c1 c2"}),
    "split, broadcasting": _split("BROADCASTING", b2={100: "c1"}),
    "b2 came back and lists nobody": _split(b2={100: "", 400: "c1 c2"}),
    "offline, produced": _offline(_produced),
    "offline, backlog": _offline(lambda _: (100, 90, 1)),
    "offline, backlog set": _offline(lambda second: (100, 90 if second < 300 else 100, 1)),
    "offline from the start": _offline(lambda _: (100, 90, 1), {"b": {0: "", 400: "c1"}}),
    "offline, nothing to do": _offline(lambda _: (100, 100, 1)),
    "offline, unknown": _offline(lambda _: (100, 0, 0)),
    "offline, broadcasting": _offline(lambda _: (100, 90, 1), {"b": {0: "", 400: "c1"}}, model="BROADCASTING"),
    # A broker that does not host the topic lists somebody.
    "offline but elsewhere": _offline(_produced, {**AWAY, "x": {0: "c1"}}, perms={"x": {0: None}}),
    "offline twice": _offline(lambda second: (second, 0, 0), {"b": {0: "c1", 200: "", 300: "c1", 400: "", 500: "c1"}}),
    # The second topic gets another queue while nobody is there.
    "offline, two topics": Group(AWAY, {"t-": Topic({0: 1}, _produced), "t2-": Topic({0: 1, 300: 2}, _produced)}),
    "nobody, of no topic": Group({"b": {0: "", 400: None}}, {}),
    "flapping": Group(TWO, FOUR_QUEUES, expressions={0: "A", 200: "B", 240: "A", 280: "B", 300: "A"}),
    "changed once": Group(TWO, FOUR_QUEUES, expressions={0: "A", 200: "B"}),
    "go and java": Group(TWO, FOUR_QUEUES, language="GO"),
    "java and unknown": Group(TWO, FOUR_QUEUES, language=None),
    # Three topics and three members: 4 queues each are 2 + 1 + 1.
    "many topics": Group(THREE, {f"t{number}-": Topic({0: 4}) for number in range(3)}),
    "topics without remainder": Group(THREE, {f"t{number}-": Topic({0: 3}) for number in range(3)}),
    "hot topic": _traffic(4),
    "warm topic": _traffic(3),
    "hot topic, a member joins": _traffic(4, {"b": {0: "c1 c2", 200: "c1 c2 c3"}}),
    "write only, backlog": _closing(2, 90),
    "write only, nothing there": _closing(2, 100),
    "write only, unknown": _closing(2, 0, 0),
    "read only, backlog": _closing(4, 90),
    "gone, backlog": _closing(None, 90),
    "gone, nothing there": _closing(None, 100),
    "no members, 200 to 300": _silent(MEMBERSHIP_SNAPSHOTS),
    "no offsets, 200 to 300": _silent(OFFSET_SNAPSHOTS),
    "nothing, 200 to 300": _silent(MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS),
    "nothing, 200 to 240": _silent(MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS, until=240),
}


def snapshots() -> Rows:
    """All groups."""
    for name, group in GROUPS.items():
        for second in TIMES:
            silent = group.silent if 200 <= second < group.silent_until else ()
            yield from ((table, row) for table, row in _of_group(name, group, second) if table not in silent)


def _of_group(name: str, group: Group, second: int) -> Rows:
    topics = {f"{prefix}{name}": topic for prefix, topic in group.topics.items()}
    perms = dict.fromkeys(group.listed, 6) | {broker: _now(of_it, second) for broker, of_it in group.perms.items()}
    for name_of, topic in topics.items():
        row = route(second, _now(topic.queues, second), topic=name_of)
        of_host = [row["queues"][0] | {"broker_name": broker, "perm": perm} for broker, perm in perms.items() if perm]
        yield ROUTE_SNAPSHOTS, row | {"queues": of_host}
        if topic.sample and (read := topic.sample(second)):
            yield OFFSET_SNAPSHOTS, offsets(second, *[read] * topic.queues[0], topic=name_of, group=name)
    for broker, lists in group.listed.items():
        ids = _now(lists, second)
        if ids is not None:
            row = membership(second, *ids.split(), group=name, broker=broker, topics=topics)
            for subscription in row["subscriptions"][:1]:
                subscription["sub_string"] = _now(group.expressions, second)
            for connection in row["connections"][1:2]:
                connection["language"] = group.language
            yield MEMBERSHIP_SNAPSHOTS, row | {"message_model": group.model if ids else None}


def _now(changes: Mapping[int, T], second: int) -> T:
    """The last of what holds from a second on."""
    return next(value for since, value in sorted(changes.items(), reverse=True) if since <= second)


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
