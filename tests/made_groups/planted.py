"""The kinds of made groups with one thing wrong, and what must be said of each: every finding beyond INFO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from tests.made_groups.kinds import LineKind
from tests.made_groups.lives import ALWAYS, BacklogCourse, Life, Standing, Time


def _steady(random: Random, hours: int, members: int = 2, queues: int = 8) -> Life:
    """Members that stay, and messages that come in; something is wrong for 15 to 25 minutes of one of the hours."""
    ids = tuple(f"10.31.{random.randrange(200)}.{host}@7#{random.randrange(10**15)}" for host in range(members))
    routes = {"topic": [(ALWAYS, {"broker-a": queues})], "%RETRY%group": [(ALWAYS, {"broker-a": 1})]}
    since = random.randrange(hours) * 3600 + random.randrange(600, 1800)
    fault = Time(since, since + random.randrange(900, 1500))
    return Life(routes, [(ALWAYS, ids)], rate=random.choice((5, 20)), fault=fault, hours=hours)


def _all_the_time(life: Life) -> Life:
    return replace(life, fault=Time(0, life.end))


def _during(life: Life, ids: tuple[str, ...]) -> BacklogCourse[tuple[str, ...]]:
    """These instead of the members, while the fault lasts."""
    start, end = _fault(life)
    return [*life.members, (start, ids), (end, life.members[0][1])]


def _fault(life: Life) -> Time:
    assert life.fault
    return life.fault


def twins(random: Random, hours: int) -> Life:
    """A second consumer with the first one's id: queues 3 to 5 of 8 are nobody's while it is there."""
    life = _steady(random, hours)
    first, second = life.ids
    nobody = Standing("topic", (3, 4, 5), _fault(life))
    return replace(life, members=_during(life, (first, first, second)), standing=[nobody])


def offline(random: Random, hours: int) -> Life:
    """All leave, and messages keep coming."""
    life = _steady(random, hours)
    return replace(life, members=_during(life, ()), standing=[Standing("topic", range(8), _fault(life))])


def stopped_behind_a_proxy(random: Random, hours: int) -> Life:
    life = _steady(random, hours)
    nobody = Standing("topic", range(8), _fault(life))
    return replace(life, connects=False, has_proxy=True, told=False, standing=[nobody])


def split_subscription(random: Random, hours: int) -> Life:
    """Each of two members subscribes one topic: by AVG the first has queues 0 and 1 of each, the other 2 and 3."""
    life = _all_the_time(_steady(random, hours))
    first, second = life.ids
    hosts = [(ALWAYS, {"broker-a": 4})]
    always = Time(ALWAYS, life.end)
    return replace(
        life,
        routes={"retail": hosts, "wholesale": hosts},
        subscribed={first: ["retail"], second: ["wholesale"]},
        standing=[Standing("retail", (2, 3), always), Standing("wholesale", (0, 1), always)],
    )


def mixed_strategies(random: Random, hours: int) -> Life:
    """Of 8 queues the first takes 0, 2, 4, 6 in a circle, and the second 4 to 7: 1 and 3 are nobody's."""
    life = _all_the_time(_steady(random, hours))
    nobody = Standing("topic", (1, 3), Time(ALWAYS, life.end))
    return replace(life, strategies={life.ids[0]: "AVG_BY_CIRCLE"}, standing=[nobody])


def more_members_than_queues(random: Random, hours: int) -> Life:
    return _all_the_time(_steady(random, hours, members=5, queues=4))


def failing_listener(random: Random, hours: int) -> Life:
    life = _all_the_time(_steady(random, hours))
    return replace(life, failing={life.ids[0]: random.choice((0.2, 0.6))})


def stuck_listener(random: Random, hours: int) -> Life:
    """Of one queue nothing is committed."""
    life = _steady(random, hours)
    return replace(life, standing=[Standing("topic", (2,), _fault(life))])


def slow_listener(random: Random, hours: int) -> Life:
    """Half of the messages are left, so that the lag grows all the time; in half of them a member reconnects meanwhile,
    and is listed twice for 100 s.
    """
    life = _steady(random, hours)
    start, end = _fault(life)
    second = random.randrange(start + 120, end - 220)
    (_, ids), *_ = life.members
    twice = [(ALWAYS, ids), (second, (*ids, ids[0])), (second + 100, ids)]
    return replace(life, slowed=Time(start, end), members=twice if random.random() < 0.5 else life.members)


def no_answer(random: Random, hours: int) -> Life:
    """The first of two hangs, and its queues 0 to 3 of 8 with it."""
    life = _steady(random, hours)
    return replace(life, silent={life.ids[0]: _fault(life)}, standing=[Standing("topic", range(4), _fault(life))])


def recorder_down(random: Random, hours: int) -> Life:
    """Nothing at all was recorded."""
    life = _steady(random, hours)
    return replace(life, sources_lost=life.fault)


def flapper(random: Random, hours: int) -> Life:
    """One of two members leaves every two minutes, and is back under a new id two minutes later."""
    life = _steady(random, hours)
    (start, end), (first, second) = _fault(life), life.ids
    changes: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, (first, second))]
    for place, at in enumerate(range(start, end - 119, 120)):
        changes.append((at, (first, f"{second.partition('@')[0]}@7#{place}") if place % 2 else (first,)))
    return replace(life, members=changes, fault=Time(start, changes[-1][0]))


def split_brokers(random: Random, hours: int) -> Life:
    """One of two brokers lists one of two members only: of 4 and 4 queues, 0 to 3 of broker-a are the first one's by
    both lists, and those of broker-b may be either one's.
    """
    life = _steady(random, hours)
    hosts = {"broker-a": 4, "broker-b": 4}
    routes = {"topic": [(ALWAYS, hosts)], "%RETRY%group": [(ALWAYS, dict.fromkeys(hosts, 1))]}
    return replace(life, routes=routes, listed={"broker-b": _during(life, tuple(life.ids[:1]))})


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
        slow_listener: "CONSUMER_LAGGING/FALLING_BEHIND",
        flapper: "REBALANCE_STORM/MEMBER_CHANGES FLAPPING_MEMBER/NEW_ID_EACH_TIME",
        split_brokers: "MEMBERSHIP_VIEW_SPLIT/BROKERS_DISAGREE UNASSIGNED_QUEUE/VIEWS_DISAGREE",
    }.items()
}
