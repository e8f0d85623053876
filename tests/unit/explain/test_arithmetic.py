"""The arithmetic of every strategy, worked out by hand."""

import re
from dataclasses import replace

import pytest

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, Strategy, Variant
from spark_jobs.show.rows import Row
from spark_jobs.show.text.arithmetic import allocation_arithmetic, arithmetic
from tests.support.tables import cases

AVG, CIRCLE = Strategy("AVG"), Strategy("AVG_BY_CIRCLE")
ROOMS = Strategy("MACHINE_ROOM", rooms=frozenset({"r1", "r2"}))
#: `a-1` is in room a, `r1@b` in room r1.
ROOM = "^([a-z][0-9]?)"
LISTS = Strategy("CONFIG", config_queues=(ConfigQueues("c1", "T", "a", (0, 1)), ConfigQueues("c2", "T", "a", (1, 2))))


def nearby(inner: str) -> Strategy:
    return Strategy(f"MACHINE_ROOM_NEARBY-{inner}", broker_room=ROOM, client_room=ROOM)


STRATEGIES = {"ROOMS": ROOMS, "LISTS": LISTS, "NEARBY-AVG": nearby("AVG"), "NEARBY-CIRCLE": nearby("AVG_BY_CIRCLE")}
STRATEGIES |= {f"RING-{points}": Strategy("CONSISTENT_HASH", points) for points in (0, 3)}


def strategy(name: str) -> Strategy:
    return STRATEGIES.get(name) or Strategy(name)


def queues(text: str, topic: str = "T") -> list[MessageQueue]:
    """`a:2 b:1`: queues 0 and 1 of a, 0 of b."""
    counts = (entry.rpartition(":") for entry in text.split())
    return [MessageQueue(topic, broker, queue_id) for broker, _, n in counts for queue_id in range(int(n))]


#: strategy | queues | members, and how it cuts
_CUTS = """
    POP-AVG+1 | a:4 | c1 c2 c3
        The broker assigns the queues. 4 queues, 3 members: every member may pop its queues by AVG and those of the next
        index. So indexes 0 and 2 get 3, index 1 gets 2.
    POP-AVG_BY_CIRCLE+2 | a:4 | c1 c2 c3 c4
        The broker assigns the queues. 4 queues, 4 members: every member may pop its queues by AVG_BY_CIRCLE and those
        of the next 2 indexes. So every index gets 3.
    POP-AVG+1 | a:2 | c1 c2 c3
        The broker assigns the queues. 2 queues, 3 members: index i may pop only queue i % 2 of the list.
    AVG | a:8 b:8 | c1 c2 c3
        16 queues, 3 members: 16 % 3 = 1, so index 0 gets 6, indexes 1 and 2 get 5, in consecutive slices.
    AVG | a:12 | c1 c2 c3 c4 c5
        12 queues, 5 members: 12 % 5 = 2, so indexes 0 and 1 get 3, indexes 2 to 4 get 2, in consecutive slices.
    AVG | a:3 | c1 c2 c3
        3 queues, 3 members: 3 % 3 = 0, so every index gets 1, in consecutive slices.
    AVG | a:8 | c1
        8 queues, 1 member: index 0 gets all.
    AVG | a:1 | c1
        1 queue, 1 member: index 0 gets all.
    AVG | a:2 | c1 c2 c3
        2 queues, 3 members: not enough for all, so indexes 0 and 1 get 1, index 2 gets none.
    AVG_BY_CIRCLE | a:6 b:6 | c1 c2 c3 c4 c5
        12 queues, 5 members, dealt in turn: queue i of the list goes to index i % 5, so indexes 0 and 1 get 3, indexes
        2 to 4 get 2.
    AVG_BY_CIRCLE | a:2 | c1 c2 c3
        2 queues, 3 members, dealt in turn: queue i of the list goes to index i % 3, so indexes 0 and 1 get 1, index 2
        gets none.
    AVG_BY_CIRCLE | a:2 | c1
        2 queues, 1 member, dealt in turn: queue i of the list goes to index i % 1, so index 0 gets 2.
    NEARBY-AVG | a-1:2 | a-x a-y
        Each room is divided separately, by AVG. Room a: 2 queues, 2 members in it: 2 % 2 = 0, so every index gets 1.
    ROOMS | other:4 r1@b:5 | c1 c2
        Only brokers named room@broker, with a configured room (r1, r2), count: 5 of 9 queues. 5 queues, 2 members:
        5 // 2 = 2 for everyone, the 1 left over goes to the first, so index 0 gets 3, index 1 gets 2. No member owns
        the other 4 queues, by design.
    ROOMS | r1@b:5 r2@b:3 | c1 c2 c3
        Only brokers named room@broker, with a configured room (r1, r2), count: 8 of 8 queues. 8 queues, 3 members:
        8 // 3 = 2 for everyone, the 2 left over go to the first, so indexes 0 and 1 get 3, index 2 gets 2.
    ROOMS | other:4 | c1 c2
        Only brokers named room@broker, with a configured room (r1, r2), count: 0 of 4 queues. 0 queues, 2 members:
        0 // 2 = 0 for everyone, and none is left over, so every index gets none. No member owns the other 4 queues, by
        design.
    NEARBY-AVG | a-1:5 b-1:4 | a-x a-y b-z
        Each room is divided separately, by AVG. Room a: 5 queues, 2 members in it: 5 % 2 = 1, so index 0 gets 3, index
        1 gets 2. Room b: 4 queues, 1 member in it: index 2 gets 4. In total, index 0 gets 3, index 1 gets 2, index 2
        gets 4.
    NEARBY-CIRCLE | a-1:3 b-1:4 | a-x a-y
        Each room is divided separately, by AVG_BY_CIRCLE. Room a: 3 queues, 2 members in it: 3 % 2 = 1, so index 0 gets
        2, index 1 gets 1. Room b: 4 queues, no member in it, so all 2 members share them: 4 % 2 = 0, so every index
        gets 2. In total, index 0 gets 4, index 1 gets 3.
    RING-0 | a:2 | c1
        Every member has 0 points on the hash ring, so no member gets a queue.
    AVG | a:2 |
        No member was connected, so none computed its queues.
    NEARBY-AVG | 1:2 | c1
        The configuration of the newest run does not say how. The owners below are those of the replay.
"""


@pytest.mark.parametrize(("name", "of", "members", "expected"), cases(_CUTS))
def test_how_a_strategy_cuts(name: str, of: str, members: str, expected: str) -> None:
    assert " ".join(arithmetic(strategy(name), queues(of), members.split())) == expected


#: Topic `topic`, broker `brokerName`, three points a member: results of the Java class.
@pytest.mark.parametrize(
    ("of", "members", "expected"),
    [
        ("brokerName:6", "CID-0 CID-1 CID-2", "Of 6 queues, index 0 gets 1, index 1 gets 2, index 2 gets 3."),
        ("brokerName:10", "CID-0 CID-1 CID-2 CID-3", "Of 10 queues, index 0 gets 1, index 1 gets none, index 2 gets 4, "
                                                     "index 3 gets 5."),
    ],
)  # fmt: skip
def test_how_a_ring_of_hashes_cuts(of: str, members: str, expected: str) -> None:
    assert arithmetic(strategy("RING-3"), queues(of, "topic"), members.split()) == [
        "Every member has 3 points on the hash ring, and a queue goes to the first point at or after its own hash.",
        expected,
    ]


#: queues | topic, and what is said of the configured lists
_LISTED = """
    a:4 | T
        Of this topic, index 0 has a:0-1 and index 1 has a:1-2. a:1 is in more than one list. a:3 is in none.
    a:1 | T
        Of this topic, index 0 has a:0.
    a:5 | U
        No list contains a queue of this topic.
"""


@pytest.mark.parametrize(("of", "topic", "expected"), cases(_LISTED))
def test_configured_lists(of: str, topic: str, expected: str) -> None:
    first, *others = arithmetic(LISTS, queues(of, topic), ["c1", "c2", "c3"])
    assert first == "Every client owns the queues of its configured list, whatever the other members are."
    assert " ".join(others) == expected


def test_many_indexes_take_few_words() -> None:
    """2,000 = 300 × 6 + 200."""
    (sentence,) = arithmetic(AVG, queues("a:2000"), [f"c{i:03}" for i in range(300)])
    assert sentence == (
        "2,000 queues, 300 members: 2,000 % 300 = 200, so indexes 0 to 199 get 7, indexes 200 to 299 get 6, in "
        "consecutive slices."
    )
    _, ring = arithmetic(Strategy("CONSISTENT_HASH"), queues("a:2000"), [f"c{i:03}" for i in range(300)])
    assert re.fullmatch(r"Of 2,000 queues, an index gets from \d+ to \d+\.", ring), ring
    lists = tuple(ConfigQueues(f"c{i}", "T", "a", (i,)) for i in range(10))
    _, of_topic = arithmetic(Strategy("CONFIG", config_queues=lists), queues("a:10"), [f"c{i}" for i in range(10)])
    assert of_topic.endswith("index 6 has a:6, index 7 has a:7 and 2 more indexes have lists.")


def members(text: str, strategy: Strategy = AVG, strangers: str = "") -> list[Row]:
    return [
        {"client_id": client_id, "strategy": strategy, "subscribes": client_id not in strangers.split()}
        for client_id in text.split()
    ]


#: strategy | queues | members, and what is said of the id that repeats
_DUPLICATES = """
    POP-AVG+1 | a:8 | c1 c1 c2
        c1 is listed 2 times, at indexes 0 and 1: each of its connections may pop the same queues as the first, index 0.
    AVG | a:8 | c1 c1 c2
        c1 is listed 2 times, at indexes 0 and 1: each of its connections computes the queues of the first, index 0. No
        member owns the queues of index 1 (3 queues).
    AVG | a:8 | c1 c2 c2
        c2 is listed 2 times, at indexes 1 and 2: each of its connections computes the queues of the first, index 1. No
        member owns the queues of index 2 (2 queues).
    AVG_BY_CIRCLE | a:8 | c1 c1 c1 c2
        c1 is listed 3 times, at indexes 0 to 2: each of its connections computes the queues of the first, index 0. No
        member owns the queues of indexes 1 and 2 (4 queues).
    AVG | a:2 | c1 c2 c3 c3
        c3 is listed 2 times, at indexes 2 and 3: each of its connections computes the queues of the first, index 2.
        Index 3 would get none, so no queue loses its owner.
    RING-3 | a:8 | c1 c1 c2
        c1 is listed 2 times, at indexes 0 and 1: it has 6 points, and each of its connections takes their queues. No
        queue loses its owner, but all of these are consumed more than once.
    LISTS | a:4 | c1 c1
        c1 is listed 2 times, at indexes 0 and 1: each of its connections owns the queues of the same list.
"""


@pytest.mark.parametrize(("name", "of", "who", "expected"), cases(_DUPLICATES))
def test_a_duplicate_id_leaves_queues_without_owner(name: str, of: str, who: str, expected: str) -> None:
    assert allocation_arithmetic(members(who, strategy(name)), "T", queues(of))[-1] == expected


def test_queues_of_a_member_that_does_not_subscribe_have_no_owner() -> None:
    *_, sentence = allocation_arithmetic(members("c1 c2", strangers="c2"), "T", queues("a:4"))
    assert sentence == "Index 1 does not consume T for the group, but still counts: its queues have no owner."
    *_, sentence = allocation_arithmetic(members("c1 c2 c3", strangers="c1 c3"), "T", queues("a:4"))
    assert sentence == "Indexes 0 and 2 do not consume T for the group, but still count: their queues have no owner."


def test_each_member_computes_with_its_own_strategy() -> None:
    mixed = [*members("c1 c2"), *members("c3", CIRCLE), *members("c3")]
    assert allocation_arithmetic(mixed, "T", queues("a:8")) == [
        "Each member computes with its own strategy, and takes only the queues of its own index.",
        "By AVG (indexes 0, 1 and 3): 8 queues, 4 members: 8 % 4 = 0, so every index gets 2, in consecutive slices.",
        "By AVG_BY_CIRCLE (index 2): 8 queues, 4 members, dealt in turn: queue i of the list goes to index i % "
        "4, so every index gets 2.",
        "c3 is listed 2 times, at indexes 2 and 3: each of its connections computes the queues of the first, "
        "index 2. No member owns the queues of its other indexes.",
    ]


def test_each_member_computes_as_its_language_does() -> None:
    """The nodes and the queues are those of `tests/data/allocations.txt`."""
    java = Strategy("CONSISTENT_HASH", 2)
    go = replace(java, variant=Variant.GO)
    assert allocation_arithmetic([*members("c1", java), *members("c2", go)], "T", queues("a:6")) == [
        "Each member computes with the rules of its language and version, and takes only the queues of its own index.",
        "By CONSISTENT_HASH of Go (index 1): Every member has 2 points on Go's hash ring, and a queue goes to the "
        "first point after its own hash. Of 6 queues, index 0 gets 2, index 1 gets 4.",
        "By CONSISTENT_HASH (index 0): Every member has 2 points on the hash ring, and a queue goes to the first "
        "point at or after its own hash. Of 6 queues, index 0 gets 4, index 1 gets 2.",
    ]
    assert allocation_arithmetic(members("c1 c1 c2", go), "T", queues("a:6"))[-1] == (
        "c1 is listed 2 times, at indexes 0 and 1: it has 2 points, and each of its connections takes "
        "their queues. No queue loses its owner, but all of these are consumed more than once."
    )


def test_slices_from_the_beginning_of_the_whole_list() -> None:
    old = replace(ROOMS, variant=Variant.JAVA_TO_4_7_1)
    assert arithmetic(old, queues("a:2 r1@b:4"), ["c1", "c2"]) == [
        "Only brokers named room@broker, with a configured room (r1, r2), count: 4 of 6 queues.",
        "4 queues, 2 members: 4 // 2 = 2 for everyone, and none is left over, so every index gets 2.",
        "Go, and Java up to 4.7.1, take the slices from the start of the list of all queues, whatever the room: no "
        "member owns the last 2 queues.",
    ]
