"""The kinds of made groups with one thing wrong, and what must be said of each: every finding beyond INFO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from tests.made_groups.kinds import LineKind
from tests.made_groups.lives import ALWAYS, Life, Standing, Time


def _steady(random: Random, members: int = 2, queues: int = 8) -> Life:
    """Members that stay, and messages that come in."""
    ids = tuple(f"10.31.{random.randrange(200)}.{host}@7#{random.randrange(10**15)}" for host in range(members))
    routes = {"topic": [(ALWAYS, {"broker-a": queues})], "%RETRY%group": [(ALWAYS, {"broker-a": 1})]}
    return Life(routes, [(ALWAYS, ids)], rate=random.choice((5, 20)))


def _minute(random: Random) -> int:
    """One in the middle of the hour."""
    return random.randrange(20, 40) * 60


def twins(random: Random) -> Life:
    """A second consumer with the first one's id: queues 3 to 5 of 8 are nobody's from then on."""
    life, since = _steady(random), _minute(random)
    first, second = life.ids
    nobody = Standing("topic", (3, 4, 5), Time(since, 3600))
    return replace(life, members=[(ALWAYS, (first, second)), (since, (first, first, second))], standing=[nobody])


def offline(random: Random) -> Life:
    """All leave, and messages keep coming."""
    life, since = _steady(random), _minute(random)
    nobody = Standing("topic", range(8), Time(since, 3600))
    return replace(life, members=[*life.members, (since, ())], standing=[nobody])


def stopped_behind_a_proxy(random: Random) -> Life:
    nobody = Standing("topic", range(8), Time(_minute(random), 3600))
    return replace(_steady(random), connects=False, has_proxy=True, told=False, standing=[nobody])


def split_subscription(random: Random) -> Life:
    """Each of two members subscribes one topic: by AVG the first has queues 0 and 1 of each, the other 2 and 3."""
    life = _steady(random)
    first, second = life.ids
    hosts = [(ALWAYS, {"broker-a": 4})]
    return replace(
        life,
        routes={"retail": hosts, "wholesale": hosts},
        subscribed={first: ["retail"], second: ["wholesale"]},
        standing=[
            Standing("retail", (2, 3), Time(ALWAYS, 3600)),
            Standing("wholesale", (0, 1), Time(ALWAYS, 3600)),
        ],
    )


def mixed_strategies(random: Random) -> Life:
    """Of 8 queues the first takes 0, 2, 4, 6 in a circle, and the second 4 to 7: 1 and 3 are nobody's."""
    life = _steady(random)
    nobody = Standing("topic", (1, 3), Time(ALWAYS, 3600))
    return replace(life, strategies={life.ids[0]: "AVG_BY_CIRCLE"}, standing=[nobody])


def more_members_than_queues(random: Random) -> Life:
    return _steady(random, members=5, queues=4)


def failing_listener(random: Random) -> Life:
    life = _steady(random)
    return replace(life, failing={life.ids[0]: random.choice((0.2, 0.6))})


def stuck_listener(random: Random) -> Life:
    """Of one queue nothing is committed any more."""
    return replace(_steady(random), standing=[Standing("topic", (2,), Time(_minute(random), 3600))])


def no_answer(random: Random) -> Life:
    """The first of two hangs for four minutes, and its queues 0 to 3 of 8 with it."""
    life, since = _steady(random), _minute(random)
    time = Time(since, since + 240)
    return replace(life, silent={life.ids[0]: time}, standing=[Standing("topic", range(4), time)])


def recorder_down(random: Random) -> Life:
    """Nothing at all was recorded for ten minutes."""
    since = _minute(random)
    return replace(_steady(random), sources_lost=Time(since, since + 600))


#: What is found beyond INFO, as rule/cause.
PLANTED: Mapping[LineKind, frozenset[str]] = {
    kind: frozenset(found.split())
    for kind, found in {
        twins: (
            "DUPLICATE_CLIENT_ID/CLONED_PROCESS UNASSIGNED_QUEUE/DUPLICATE_CLIENT_ID "
            "DOUBLE_OWNED_QUEUE/DUPLICATE_CLIENT_ID"
        ),
        offline: "GROUP_OFFLINE/NOBODY_CONNECTED UNASSIGNED_QUEUE/GROUP_OFFLINE",
        stopped_behind_a_proxy: "GROUP_OFFLINE/NOBODY_CONNECTED UNASSIGNED_QUEUE/GROUP_OFFLINE",
        split_subscription: "SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED",
        mixed_strategies: (
            "MIXED_STRATEGIES/DIFFERENT_STRATEGIES UNASSIGNED_QUEUE/MIXED_STRATEGIES "
            "DOUBLE_OWNED_QUEUE/MIXED_STRATEGIES"
        ),
        more_members_than_queues: "IDLE_CONSUMER/MORE_MEMBERS_THAN_QUEUES",
        failing_listener: "CONSUME_FAILING/LISTENER_FAILS",
        stuck_listener: "CONSUMER_STOPPED/NO_COMMITS",
        no_answer: "CLIENT_HUNG/NO_ANSWER CONSUMER_STOPPED/NO_COMMITS",
        recorder_down: "UNOBSERVED/NO_SNAPSHOTS",
    }.items()
}
