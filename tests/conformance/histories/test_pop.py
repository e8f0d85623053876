"""Assignments of a broker to clients that leave it to the broker. Groups by hand, each on 4 queues of a topic of its
own, but for one; ids are sorted as they stand, and by AVG 3 members have the queues `0 1`, `2`, `3`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from schemas import (
    ALLOCATIONS,
    CLIENT_SNAPSHOTS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    REBALANCE_INTERVALS,
    ROUTE_SNAPSHOTS,
    Table,
)
from tests.support.kernel import published
from tests.support.snapshots import by_table, client, membership, offsets, route
from tests.support.times import HOUR, naive

TIMES = range(0, 620, 20)
CLASS = "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueue"
#: MQVersion.V5_1_4 asks the broker first whether it assigns, V5_3_2 does not.
V5_1_4, V5_3_2 = 441, 477
Mode = tuple[str, str, int | None]
Published = Mapping[Table, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Group:
    """`modes`: what both its brokers were given (None: not recorded), of the topic `t` with this share if it is a
    number; `elsewhere`: what the other one was given; `members` until 300 s, if `until`. All clients but the `silent`
    say that the broker assigns, but for what `said` of one by its id.
    """

    members: str
    modes: int | Sequence[Mode] | None
    elsewhere: int | Sequence[Mode] | None = -9
    said: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    silent: str = ""
    topics: Sequence[str] = ("t",)
    until: int = 10_000
    recorded_every: int = 1
    version: int = V5_3_2
    behind: Sequence[int] = ()
    queues: int = 4


def all_say(**reported: Any) -> dict[str, dict[str, Any]]:
    return dict.fromkeys(("c1", "c2", "c3"), reported)


POP_1 = "POP-AVG+1: c1+c3 c1+c3 c1+c2 c2+c3"
GROUPS: dict[str, tuple[Group, str]] = {
    "share-1": (Group("c1 c2 c3", 1), POP_1),
    "share-0": (Group("c1 c2 c3", 0), "POP_ALL_QUEUES"),
    "share-all-others": (Group("c1 c2 c3", 2), "POP_ALL_QUEUES"),
    "default-share": (Group("c1 c2 c3", -1), "POP_ALL_QUEUES"),
    "two-members": (Group("c1 c2", 1), "POP_ALL_QUEUES"),
    # c4 helps c1 and c2, and c3 helps c4 and c1.
    "share-2": (Group("c1 c2 c3 c4", 2), "POP-AVG+2: c1+c3+c4 c1+c2+c4 c1+c2+c3 c2+c3+c4"),
    # The members may pop 4, 3, 2 and 3 queues: that says nothing of what they get.
    "uneven": (Group("c1 c2 c3 c4", 1, queues=6), "POP-AVG+1: c1+c4 c1+c4 c1+c2 c1+c2 c2+c3 c3+c4"),
    # By circle 0 and 3 are c1's, 1 is c2's, 2 is c3's.
    "circle": (
        Group("c1 c2 c3", 1, said=all_say(strategy_class=CLASS + "AveragelyByCircle")),
        "POP-AVG_BY_CIRCLE+1: c1+c3 c1+c2 c2+c3 c1+c3",
    ),
    # Position i has queue i % 4.
    "more-clients": (Group("c1 c2 c3 c4 c5 c6", 1), "POP-AVG+1: c1+c5 c2+c6 c3 c4"),
    # Both c1 help position 1, which has their own id, and c2 helps them; the share of position 1 has no owner.
    "duplicates": (Group("c1 c1 c2", 1), "POP-AVG+1: c1+c1+c2 c1+c1+c2 - c2"),
    "more-duplicates": (Group("c1 c1 c2 c3 c4", 1), "POP-AVG+1: c1+c1+c4 - c2 c3"),
    "not-recorded": (Group("c1 c2 c3", None), "BROKER_REBALANCE"),
    "share-unknown": (Group("c1 c2 c3", (("t", "POP", None),)), "BROKER_REBALANCE"),
    "brokers-differ": (Group("c1 c2 c3", 1, elsewhere=0), "BROKER_REBALANCE"),
    "one-broker-recorded": (Group("c1 c2 c3", 1, elsewhere=None), "BROKER_REBALANCE"),
    "recorded-now-and-then": (Group("c1 c2 c3", 1, recorded_every=7), POP_1),
    "pull": (Group("c1 c2 c3", (("t", "PULL", 0),)), "AVG: c1 c1 c2 c3"),
    # Nothing was set for its topic: PULL is the broker's default.
    "default-mode": (Group("c1 c2 c3", (("x", "POP", 1),)), "AVG: c1 c1 c2 c3"),
    "one-is-silent": (Group("c1 c2 c3", 1, silent="c2"), POP_1),
    "in-order": (Group("c1 c2 c3", 1, said=all_say(consume_orderly=True)), "AVG: c1 c1 c2 c3"),
    # They list no queue, and consume: nothing is known of what they hold.
    "in-order-unlisted": (
        Group("c1 c2 c3", 1, said=all_say(consume_orderly=True, owned_queues=[])),
        "AVG: c1 c1 c2 c3",
    ),
    # c2 pulls its share, 2, which c1 pops.
    "one-pulls": (Group("c1 c2 c3", 1, said={"c2": {"client_rebalance": True}}), "MIXED: c1+c3 c1+c3 c1+c2 c3"),
    "ring": (Group("c1 c2 c3", 1, said={"c1": {"strategy_class": CLASS + "ConsistentHash"}}), "BROKER_LACKS_STRATEGY"),
    "offline": (Group("c1 c2 c3", 0, until=300), "POP_ALL_QUEUES, AVG: - - - -"),
    "slow": (Group("c1 c2 c3 c4 c5 c6", 1, behind=(0,)), "POP-AVG+1: c1+c5 c2+c6 c3 c4"),
}
POPPED = {name for name, (_, expected) in GROUPS.items() if "POP" in expected}
#: One of a client's topics is POP: the other ones are assigned by the broker too, by PULL.
BOTH = {"t": POP_1, "u": "AVG: c1 c1 c2 c3", "%RETRY%g": "AVG: c1 c1 c2 c3"}
VERSIONS = {f"both-{version}": Group("c1 c2 c3", 1, topics=("t", "u"), version=version) for version in (V5_1_4, V5_3_2)}


def of_group(name: str, group: Group) -> Iterator[tuple[Table, dict[str, Any]]]:
    topics = [f"{topic}-{name}" for topic in group.topics] + ([f"%RETRY%{name}"] if len(group.topics) > 1 else [])
    for number, second in enumerate(TIMES):
        ids = group.members.split() if second < group.until else []
        for broker, given in (("b", group.modes), ("b2", group.modes if group.elsewhere == -9 else group.elsewhere)):
            row = membership(second, *ids, group=name, broker=broker, topics=topics)
            for connection in row["connections"]:
                connection["version"] = group.version
            yield MEMBERSHIP_SNAPSHOTS, row | {"request_modes": modes(name, given, number % group.recorded_every)}
        for topic in topics:
            hosts = [route(second, *of_broker)["queues"][0] for of_broker in ((group.queues, topic), (0, topic, "b2"))]
            yield ROUTE_SNAPSHOTS, {**route(second, 4, topic), "queues": hosts}
            yield OFFSET_SNAPSHOTS, offsets(second, *samples(group, topic, second), topic=topic, group=name)
        for client_id in dict.fromkeys(ids):
            if client_id not in group.silent.split():
                reported = client(
                    second,
                    client_id,
                    group=name,
                    strategy_class=CLASS + "Averagely",
                    message_model="CLUSTERING",
                    client_rebalance=False,
                    subscriptions=[(topic, "TAG", "*", 1) for topic in topics],
                    # What a client pops is not among the queues that it lists.
                    owned_queues=[] if name in POPPED else None,
                )
                yield CLIENT_SNAPSHOTS, {**reported, **group.said.get(client_id, {})}


def samples(group: Group, topic: str, second: int) -> Iterator[tuple[int, int, int]]:
    """9 messages a second in each queue, consumed at once while a client is online; 5 are left in those `behind`."""
    for queue in range(group.queues):
        came_in = 0 if topic.startswith("%RETRY%") else 9 * second
        left = 5 * second if queue in group.behind else max(0, 9 * (second - group.until))
        yield 10_000 + came_in, 10_000 + came_in - left, 1


def modes(name: str, given: int | Sequence[Mode] | None, place: int) -> list[Mode] | None:
    if given is None or place:
        return None
    listed = (("t", "POP", given),) if isinstance(given, int) else given
    return [(f"{topic}-{name}", mode, share) for topic, mode, share in listed]


@pytest.fixture(scope="module")
def found() -> Published:
    groups = {name: group for name, (group, _) in GROUPS.items()} | VERSIONS
    return published(by_table(row for name, group in groups.items() for row in of_group(name, group)), HOUR)


def replayed(found: Published, topic: str) -> str:
    """The topic's intervals until the recording ends: the strategy and the owners of each queue, or the reason."""
    owners: dict[Any, list[str]] = defaultdict(list)
    for row in found[ALLOCATIONS]:
        if row["topic"] == topic:
            ids = "+".join(owner["client_id"] for owner in row["owners"])
            owners[row["interval_start"]].append(ids or "-")
    rows = [row for row in found[REBALANCE_INTERVALS] if row["topic"] == topic and row["status"] != "UNOBSERVED"]
    return ", ".join(
        row["reason"] or f"{row['strategy'] or 'AVG'}: {' '.join(owners[row['interval_start']])}" for row in rows
    )


@pytest.mark.parametrize("name", GROUPS)
def test_who_may_pop_which_queue(found: Published, name: str) -> None:
    assert replayed(found, f"t-{name}") == GROUPS[name][1]


@pytest.mark.parametrize("name", VERSIONS)
def test_one_topic_that_is_popped_leaves_all_topics_of_a_client_to_the_broker(found: Published, name: str) -> None:
    topics = {"t": f"t-{name}", "u": f"u-{name}", "%RETRY%g": f"%RETRY%{name}"}
    assert {short: replayed(found, topic) for short, topic in topics.items()} == BOTH


def test_what_is_shared_by_design_is_no_harm_and_what_no_client_pops_is(found: Published) -> None:
    said = {
        (row["consumer_group"], row["rule"], row["severity"], row["cause"], len(row["evidence"]["queues"]))
        for row in found[FINDINGS]
        if row["severity"] != "INFO"
    }
    assert {finding for finding in said if finding[0] != "slow"} == {
        ("duplicates", "DUPLICATE_CLIENT_ID", "ERROR", "FIXED_INSTANCE_NAME", 1),
        ("duplicates", "UNASSIGNED_QUEUE", "ERROR", "DUPLICATE_CLIENT_ID", 1),
        ("more-duplicates", "DUPLICATE_CLIENT_ID", "ERROR", "FIXED_INSTANCE_NAME", 1),
        ("more-duplicates", "UNASSIGNED_QUEUE", "ERROR", "DUPLICATE_CLIENT_ID", 1),
        ("one-pulls", "MIXED_STRATEGIES", "ERROR", "DIFFERENT_STRATEGIES", 0),
        ("one-pulls", "DOUBLE_OWNED_QUEUE", "ERROR", "MIXED_STRATEGIES", 1),
        ("offline", "GROUP_OFFLINE", "ERROR", "NO_MEMBERS", 0),
        ("offline", "UNASSIGNED_QUEUE", "ERROR", "GROUP_OFFLINE", 4),
    }


def test_how_many_queues_a_member_may_pop_is_not_its_load(found: Published) -> None:
    assert "LOAD_IMBALANCE" not in {row["rule"] for row in found[FINDINGS]}


def test_shared_queues_count_as_owned_once(found: Published) -> None:
    totals = {
        row["consumer_group"]: (row["unassigned_queues"], row["double_owned_queues"], row["idle_members"])
        for row in found[REBALANCE_INTERVALS]
        if row["interval_start"] == naive(0)
    }
    names = ("share-1", "more-clients", "duplicates", "one-pulls", "share-0")
    assert {name: totals[name] for name in names} == {
        **dict.fromkeys(("share-1", "more-clients"), (0, 0, 0)),
        "duplicates": (1, 0, 0),
        "one-pulls": (0, 1, 0),
        "share-0": (None, None, None),
    }
    (status,) = (row for row in found[GROUP_STATUS] if row["consumer_group"] == "share-1")
    assert [status[name] for name in ("queues_with_one_owner", "double_owned_queues", "unassigned_queues")] == [4, 0, 0]
    causes = {row["double_owned_cause"] for row in found[ALLOCATIONS] if row["consumer_group"] == "one-pulls"}
    assert causes == {"POP_SHARED", "MIXED_STRATEGIES", None}


def test_without_duplicates_every_popped_queue_has_an_owner(found: Published) -> None:
    """Without repeats both members may pop all; with ids of their own queue 2 has an owner. Nothing is shared."""
    (finding,) = (
        row for row in found[FINDINGS] if (row["consumer_group"], row["rule"]) == ("duplicates", "DUPLICATE_CLIENT_ID")
    )
    cures = {name: tuple(finding["evidence"][name].values()) for name in ("if_deduplicated", "if_unique")}
    assert cures == {"if_deduplicated": (0, 0), "if_unique": (0, 0)}


def test_whether_an_additional_member_helps_is_unknown_where_nothing_shows_that_the_others_are_busy(
    found: Published,
) -> None:
    (status,) = (row for row in found[GROUP_STATUS] if row["consumer_group"] == "slow")
    assert (status["bottleneck"], status["more_members_help"]) == ("UNEXPLAINED", None)
    assert status["advice"] == (
        "Unknown: nothing recorded shows what limited 6 members in 4 queues, and the backlog reached 3,000 messages in "
        "1 queue. More consumers help only if all threads of their listeners are busy: record the clients' running "
        "info, or look at it."
    )
