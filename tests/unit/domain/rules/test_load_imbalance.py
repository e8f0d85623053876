"""Queues, or the messages in them, that are shared unevenly."""

from dataclasses import replace
from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import IntervalProgress, RebalanceInterval
from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rocketmq.strategies import Variant
from spark_jobs.domain.rules.load_imbalance import RULE, is_imbalanced, severity, topic_cause, unequal_traffic
from spark_jobs.domain.rules.member_loads import MemberTraffic, member_traffic
from tests.support.builders import allocation, audited_step, interval, members, span
from tests.support.findings import rule_hit
from tests.support.kernel import SETTINGS, evaluated
from tests.support.samples import progress
from tests.support.snapshots import client, membership, offsets, route
from tests.support.tables import cells
from tests.support.times import HOUR, second_of

#: queues per member | strategy | uneven | cause | severity if uneven
_TABLE = """
    6 5 5 | AVG                     | no  | ROOMS      | -
    4     | AVG                     | no  | ROOMS      | -
    -     | AVG                     | no  | ROOMS      | -
    0 0   | CONSISTENT_HASH         | no  | HASH_RING  | -
    1 0   | CONSISTENT_HASH         | no  | HASH_RING  | -
    2 0   | CONSISTENT_HASH         | yes | HASH_RING  | INFO
    9 1   | CONSISTENT_HASH         | yes | HASH_RING  | INFO
    5 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | INFO
    8 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | INFO
    9 3   | MACHINE_ROOM_NEARBY-AVG | yes | ROOMS      | WARN
    2 0   | CONFIG                  | yes | CONFIGURED | INFO
    3 0   | CONFIG                  | yes | CONFIGURED | WARN
"""


@pytest.mark.parametrize(("numbers", "strategy", "uneven", "cause", "how_bad"), cells(_TABLE))
def test_what_is_uneven_why_and_how_bad(numbers: str, strategy: str, uneven: str, cause: str, how_bad: str) -> None:
    queues = [] if numbers == "-" else [int(count) for count in numbers.split()]
    assert (is_imbalanced(queues), topic_cause(strategy)) == (uneven == "yes", cause)
    assert uneven == "no" or severity(topic_cause(strategy), queues) == how_bad


def _shared(
    topic: str, ids: str, *queues: int, strategy: str = "AVG", view: str = "*", time: str = "0-60"
) -> RebalanceInterval:
    """An interval in which each connection owns so many queues."""
    listed = members(ids, strategy)
    owners = " ".join(str(position) for position, count in enumerate(queues) for _ in range(count))
    start, end = (int(second) for second in time.split("-"))
    return interval(start, end, listed, allocation(listed, owners), topic=topic, view=view)


def test_one_hit_per_interval_with_uneven_shares() -> None:
    """Connections in allocation order; who does not subscribe does not count."""
    (hit,) = RULE.hits(audited_step(_shared("t", "b c a x-", 4, 1, 4, 0, strategy="CONSISTENT_HASH")))
    values = ConflictingValue("4 queues", ("b", "a")), ConflictingValue("1 queue", ("c",))
    shares: dict[str, Any] = {"measures": {"most_queues": 4, "fewest_queues": 1}, "conflicting_values": values}
    assert hit == rule_hit(0, 60, "HASH_RING", topic="t", severity="INFO", weight=3, **shares)


def test_a_duplicate_counts_as_two_connections() -> None:
    (found,) = RULE.hits(audited_step(_shared("t", "c1 c1 c2", 2, 2, 0, strategy="CONFIG")))
    assert found.conflicting_values == (ConflictingValue("2 queues", ("c1",)), ConflictingValue("0 queues", ("c2",)))


def test_what_duplicates_own_is_no_warning() -> None:
    """Over both topics the duplicates have 16 queues and c2 2; without the second one c1 has 8, which is a warning."""
    duplicates = [_shared(topic, "c1 c1 c2", 4, 4, 1) for topic in ("t", "u")]
    alone = [_shared(topic, "c1 c2", 4, 1) for topic in ("t", "u")]
    severities = {
        name: {hit.severity for hit in RULE.hits(audited_step(*of_topics)) if hit.cause == "REMAINDERS"}
        for name, of_topics in (("duplicates", duplicates), ("alone", alone))
    }
    assert severities == {"duplicates": {"INFO"}, "alone": {"WARN"}}


def test_no_hit_where_another_rule_speaks_or_nobody_can_say() -> None:
    mixed = _shared("t", "c1 c2", 4, 0, strategy="CONSISTENT_HASH")
    first, second = mixed.members or ()
    step = audited_step(
        replace(mixed, members=(first, second._replace(strategy="CONFIG"))),
        replace(mixed, topic="w", members=(first, second._replace(variant=Variant.GO))),
        _shared("u", "c1 c2", 4, 0, strategy="CONSISTENT_HASH", view="b"),
        _shared("%RETRY%g", "c1 c2", 4, 0, strategy="CONSISTENT_HASH"),
        _shared("v", "c1 c2 x-", 2, 1, 0),
    )
    assert list(RULE.hits(step)) == []


def test_remainders_over_all_topics() -> None:
    """4 queues of each topic for 3 members: 2 + 1 + 1, three times."""
    (hit,) = RULE.hits(audited_step(*(_shared(topic, "c1 c2 c3", 2, 1, 1) for topic in ("t", "u", "v"))))
    values = ConflictingValue("6 queues", ("c1",)), ConflictingValue("3 queues", ("c2", "c3"))
    shares: dict[str, Any] = {"measures": {"most_queues": 6, "fewest_queues": 3}, "conflicting_values": values}
    assert hit == rule_hit(0, 60, "REMAINDERS", severity="INFO", weight=3, **shares)


def _busy(second: int, client_id: str, threads: float) -> dict[str, Any]:
    """So many of its 20 threads are in the listener: a second a message, so many messages a second."""
    status = {"topic": "t", "consume_rt_ms": 1000.0, "consume_ok_tps": threads, "consume_failed_tps": 0.0}
    status |= {"pull_rt_ms": 1.0, "pull_tps": threads}
    return client(second, client_id, consume_threads=20, consume_status=[status])


@pytest.mark.parametrize(
    ("busy", "severity", "named"),
    [
        ({"c1": (20.0, 600)}, "WARN", ["c1"]),
        ({"c2": (20.0, 600)}, "INFO", []),
        ({"c1": (20.0, 600), "c2": (20.0, 600)}, "INFO", []),
        ({"c1": (17.0, 600)}, "INFO", []),
        ({"c1": (20.0, 80)}, "INFO", []),
        ({}, "INFO", []),
    ],
)
def test_the_member_with_most_queues_that_cannot_keep_up_is_named(
    busy: dict[str, tuple[float, int]], severity: str, named: list[str]
) -> None:
    """Of two topics of five queues `c1` has six, `c2` four: INFO, unless `c1` alone is busy, and for two minutes."""
    times, topics = range(0, 620, 20), ("t", "u")
    rows = {
        MEMBERSHIP_SNAPSHOTS: [membership(second, "c1", "c2", topics=topics) for second in times],
        ROUTE_SNAPSHOTS: [route(second, 5, topic) for second in times for topic in topics],
        OFFSET_SNAPSHOTS: [offsets(second, *[(100, 100, 1)] * 5, topic=topic) for second in times for topic in topics],
        CLIENT_SNAPSHOTS: [
            _busy(second, client_id, threads if second <= until else 1.0)
            for second in times
            for client_id in ("c1", "c2")
            for threads, until in [busy.get(client_id, (1.0, 0))]
        ],
    }
    (step,) = evaluated(rows, HOUR)
    (found,) = [each for each in step.findings if each.rule == "LOAD_IMBALANCE"]
    assert (found.cause, found.severity, found.evidence.client_ids) == ("REMAINDERS", severity, named)
    words = "c1 6 queues, c2 4 queues"
    assert RULE.detail is not None
    assert RULE.detail(found) == (f"{words}; c1 cannot keep up" if named else words)


#: What each connection has of topics t, u and v.
TWO_ONE = ("c1 c2", 2, 1)
#: Of each topic, the duplicates together own twice as much as the other, as they do.
DUPLICATES = ("c1 c1 c2", 2, 2, 2)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        pytest.param([_shared("t", *TWO_ONE), _shared("u", *TWO_ONE)], [("0-60", 2)], id="two topics are enough"),
        pytest.param(
            [
                _shared("t", *TWO_ONE, time="0-20"),
                _shared("u", *TWO_ONE, time="0-40"),
                _shared("v", *TWO_ONE, time="20-40", strategy="CONFIG"),
            ],
            [("0-20", 2)],
            id="while both are even: from 20 on, one of the two is of a strategy that need not be",
        ),
        pytest.param(
            [_shared("t", *TWO_ONE, time="0-20"), _shared("u", *TWO_ONE), _shared("v", *TWO_ONE)],
            [("0-20", 3), ("20-60", 2)],
            id="without a topic that is over",
        ),
        pytest.param([_shared("t", "c1 c2", 2, 2), _shared("u", "c1 c2", 2, 2)], [], id="without remainders"),
        pytest.param([_shared("t", "c1", 2), _shared("u", "c1", 2)], [], id="one member has all"),
        pytest.param(
            [_shared("t", *DUPLICATES, time="0-20"), _shared("u", *DUPLICATES, time="20-40")],
            [],
            id="one topic after the other has none to add up",
        ),
        pytest.param(
            [_shared("t", *TWO_ONE), _shared("u", *TWO_ONE, time="0-40"), _shared("v", *TWO_ONE, time="20-40")],
            [("0-20", 2), ("20-40", 3)],
            id="while all topics are there: from 20 to 40 three, which differ by 3; at last one",
        ),
    ],
)
def test_remainders_add_up(shares: list[RebalanceInterval], expected: list[tuple[str, float]]) -> None:
    found = list(RULE.hits(audited_step(*shares)))
    assert [(span(hit), hit.weight) for hit in found] == expected
    assert {(hit.cause, hit.topic) for hit in found} <= {("REMAINDERS", None)}


@pytest.mark.parametrize(("strategy", "ids"), [("CONFIG", "c1 c2 c3"), ("AVG", "c1 c2- c3"), ("AVG", "c1 c2 c3")])
def test_remainders_only_of_like_members_and_even_strategies(strategy: str, ids: str) -> None:
    """The last case is the one that counts: it is the same with AVG and all topics subscribed."""
    topics = [_shared(topic, "c1 c2 c3", 2, 1, 1) for topic in ("t", "u")]
    third = _shared("v", ids, 2, 0 if "-" in ids else 1, 1, strategy=strategy)
    assert len(list(RULE.hits(audited_step(*topics, third)))) == (strategy == "AVG" and "-" not in ids)


#: Members c1, c2, …: consumed / produced (`?`: unknown) x queues, from-until in seconds (the hour) | who had most and
#: least.
_TRAFFIC = """
    200/200x1 100/100x1                               | c1 c2
    199/200x1 100/100x1                               | -
    200/199x1 100/100x1                               | -
    300/300x1 100/100x1 300/300x1                     | c3 c2
    7200/7200x2 3600/3600x1                           | -
    7200/7200x2 1800/1800x1                           | c1 c2
    600/600x1 600/600x6                               | -
    900/300x1 300/300x1                               | -
    600/600x1 100/600x1                               | -
    0/100x1 0/900x1                                   | -
    100/100x1 0/0x1                                   | c1 c2
    99/99x1 0/0x1                                     | -
    199/199x2 0/0x1                                   | -
    900/900x1                                         | -
    ?/900x1 900/?x1                                   | -
    ?/900x1 100/100x1                                 | -
    900/?x1 100/100x1                                 | -
    ?/900x1 300/300x1 100/100x1                       | c2 c3
    900/?x1 300/300x1 100/100x1                       | c2 c3
    900/900x1 300/300x1 100/100x1,0-1800              | c1 c2
    900/900x1,60-3600 100/100x1 100/100x1             | c1 c2
    900/900x1,61-3600 100/100x1 100/100x1             | -
    900/900x1,0-3540 100/100x1 100/100x1              | c1 c2
    900/900x1,0-3539 100/100x1 100/100x1              | -
"""


def _known(text: str) -> int | None:
    return None if text == "?" else int(text)


def _member(number: int, text: str) -> MemberTraffic:
    messages, _, time = text.partition(",")
    counts, _, queues = messages.partition("x")
    consumed, produced = map(_known, counts.split("/"))
    start, end = (int(second) * SECOND for second in (time or "0-3600").split("-"))
    return MemberTraffic(f"c{number}", consumed, produced, int(queues) * (end - start), start, end)


@pytest.mark.parametrize(("members", "by_hand"), cells(_TRAFFIC))
def test_traffic_is_unequal_above_twice_the_least(members: str, by_hand: str) -> None:
    """2 times as much, and 100 messages a queue; a gap is 60 s."""
    found = unequal_traffic([_member(number, text) for number, text in enumerate(members.split(), start=1)], SETTINGS)
    assert (" ".join(member.client_id for member in found) if found else "-") == by_hand


#: Group, topic, view, owners, seconds from and to, consumed, produced (`?`: unknown) of one queue in one interval.
_PROGRESS = """
    g1 t         *  c1    0   100  30 40
    g1 t         *  c1    0   100  5  6
    g1 u         *  c1    100 200  7  8
    g1 %RETRY%g1 *  c1    0   900  9  9
    g1 t         b1 c1    200 900  9  9
    g1 t         *  -     0   900  9  9
    g1 t         *  c2    200 300  0  ?
    g1 t         *  c2    300 400  1  1
    g2 t         *  c1    0   100  30 40
    g2 t         *  c1    100 200  ?  50
    g2 t         *  c2,c3 0   100  30 40
    g2 t         *  c3    0   100  30 40
    g2 t         *  c4,c4 0   100  30 40
"""
#: Group, member: consumed, produced, seconds of its queues, from and to.
_MEMBERS = """
    g1 c1 42 54 300 0   200
    g1 c2 1  ?  200 200 400
    g2 c1 ?  90 200 0   200
    g2 c2 ?  40 100 0   100
    g2 c3 ?  80 200 0   100
    g2 c4 ?  40 100 0   100
"""


def _progress(
    topic: str, view: str, owners: str, start: str, end: str, consumed: str, produced: str
) -> IntervalProgress:
    listed = members("" if owners == "-" else owners.replace(",", " "))
    owned = allocation(listed, "+".join(str(position) for position in range(len(listed))) or "-")
    of_topic = interval(int(start), int(end), listed, owned, topic=topic, view=view)
    return progress(of_topic, int(start), int(end), consumed=[_known(consumed)], produced=[_known(produced)])


@pytest.mark.parametrize("group", ["g1", "g2"])
def test_what_each_member_had(group: str) -> None:
    rows = [_progress(*words) for name, *words in map(str.split, _PROGRESS.strip().splitlines()) if name == group]
    had = [
        (one.client_id, one.consumed, one.produced, one.queue_micros / SECOND, second_of(one.start), second_of(one.end))
        for one in member_traffic(rows)
    ]
    by_hand = [line.split() for line in _MEMBERS.strip().splitlines()]
    assert had == [(member, *map(_known, numbers)) for name, member, *numbers in by_hand if name == group]


def test_one_hit_with_the_two_members_over_the_time_of_all() -> None:
    """c3 came late: it is not compared, but it is there. The step's own warm-up has no progress."""
    listed = members("c1 c2")
    before = interval(0, 1800, listed, allocation(listed, "0 1"))
    joined = members("c1 c2 c3")
    behind = interval(1800, 3600, joined, allocation(joined, "0 1 2"))
    measured = [
        progress(before, 0, 1800, consumed=[300, 100], produced=[300, 100]),
        progress(behind, 1800, 3600, consumed=[300, 50, 9999], produced=[300, 50, 9999]),
    ]
    (hit,) = RULE.hits(audited_step(progress=measured))
    values = ConflictingValue("600 messages", ("c1",)), ConflictingValue("150 messages", ("c2",))
    traffic: dict[str, Any] = {"measures": {"most_consumed": 600, "least_consumed": 150}, "conflicting_values": values}
    assert hit == rule_hit(0, 3600, "UNEQUAL_TRAFFIC", severity="INFO", **traffic)
