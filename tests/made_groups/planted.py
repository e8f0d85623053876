"""The kinds of made groups with one thing wrong, and what must be said of each: every finding beyond INFO."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from spark_jobs.domain.model.history import ClientState, ConsumeStatus
from spark_jobs.domain.model.message_queue import PERM_WRITE, RouteEntry
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from tests.made_groups.kinds import LineKind
from tests.made_groups.lives import ALWAYS, BacklogCourse, Life, Standing, Time

#: Before the first hour, and after the last.
_EVER = Time(ALWAYS, -ALWAYS)


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
    return replace(
        life,
        routes={"retail": hosts, "wholesale": hosts},
        subscribed={first: ["retail"], second: ["wholesale"]},
        standing=[Standing("retail", (2, 3), _EVER), Standing("wholesale", (0, 1), _EVER)],
    )


def mixed_strategies(random: Random, hours: int) -> Life:
    """Of 8 queues the first takes 0, 2, 4, 6 in a circle, and the second 4 to 7: 1 and 3 are nobody's."""
    life = _all_the_time(_steady(random, hours))
    nobody = Standing("topic", (1, 3), _EVER)
    return replace(life, strategies={life.ids[0]: "AVG_BY_CIRCLE"}, standing=[nobody])


def more_members_than_queues(random: Random, hours: int) -> Life:
    return _all_the_time(_steady(random, hours, members=5, queues=4))


def failing_listener(random: Random, hours: int) -> Life:
    life = _all_the_time(_steady(random, hours))
    share = random.choice((0.2, 0.6))

    def failing(status: ConsumeStatus) -> ConsumeStatus:
        rate = status.pull_tps or 0.0
        return status._replace(consume_ok_tps=rate * (1 - share), consume_failed_tps=rate * share)

    return replace(life, measures={life.ids[0]: (_fault(life), failing)})


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
    life, _ = _on_two_brokers(random, hours)
    return replace(life, listed={"broker-b": _during(life, tuple(life.ids[:1]))})


def _on_two_brokers(random: Random, hours: int) -> tuple[Life, Time]:
    """With the time of the fault."""
    life, hosts = _steady(random, hours), {"broker-a": 4, "broker-b": 4}
    routes = {"topic": [(ALWAYS, hosts)], "%RETRY%group": [(ALWAYS, dict.fromkeys(hosts, 1))]}
    return replace(life, routes=routes), _fault(life)


def other_languages(random: Random, hours: int) -> Life:
    life = _all_the_time(_steady(random, hours))
    return replace(life, languages={life.ids[0]: "GO"}, told=False)


def more_written_than_read(random: Random, hours: int) -> Life:
    """Producers write to two queues beyond those that clients list."""
    life = _all_the_time(_steady(random, hours))
    return replace(life, entries=(_EVER, lambda entry: entry._replace(write_queue_nums=entry.read_queue_nums + 2)))


def broker_not_readable(random: Random, hours: int) -> Life:
    """Of the queues of broker-b, 4 to 7 of 8, producers alone know."""
    life, fault = _on_two_brokers(random, hours)

    def write_only(entry: RouteEntry) -> RouteEntry:
        return entry._replace(perm=PERM_WRITE) if entry.broker_name == "broker-b" else entry

    return replace(life, entries=(fault, write_only), standing=[Standing("topic", range(4, 8), fault)])


def not_in_its_group(random: Random, hours: int) -> Life:
    """The process of the first of two is there, without a consumer of the group: queues 0 to 3 of 8."""
    life = _steady(random, hours)
    fault, gone = _fault(life), ClientState(answered=True, in_group=False)
    return replace(life, says={life.ids[0]: (fault, lambda _: gone)}, standing=[Standing("topic", range(4), fault)])


def drops_a_queue(random: Random, hours: int) -> Life:
    """The second of two, which has 4 to 7 of 8, has lost the last."""
    life = _steady(random, hours)

    def without_7(state: ClientState) -> ClientState:
        return state._replace(owned=tuple(one for one in state.owned or () if one.queue_id != 7))

    says = {life.ids[1]: (_fault(life), without_7)}
    return replace(life, says=says, standing=[Standing("topic", (7,), _fault(life))])


def lock_missing(random: Random, hours: int) -> Life:
    """The first of two orderly consumers has no lock of queue 2."""
    life = replace(_steady(random, hours), orderly=True)

    def unlocked(state: ClientState) -> ClientState:
        owned = (one._replace(locked=one.queue_id != 2) for one in state.owned or ())
        return state._replace(owned=tuple(owned))

    says = {life.ids[0]: (_fault(life), unlocked)}
    return replace(life, says=says, standing=[Standing("topic", (2,), _fault(life))])


def caches_too_much(random: Random, hours: int) -> Life:
    """What comes in is too much for both, so that they stop pulling."""
    life = _steady(random, hours)
    return replace(life, cached=dict.fromkeys(life.ids, (_fault(life), 1500)), slowed=life.fault)


def busy_threads(random: Random, hours: int) -> Life:
    """All 20 threads of the first are in the listener."""
    life = _steady(random, hours)
    return replace(life, measures={life.ids[0]: (_fault(life), lambda status: _using(status, 0.99))})


def near_capacity(random: Random, hours: int) -> Life:
    """17 of the 20 threads of the first are in the listener, always."""
    life = _all_the_time(_steady(random, hours))

    def with_settings(state: ClientState) -> ClientState:
        return state._replace(consume_batch_size=1, pull_batch_size=32, pull_interval_ms=0)

    says = dict.fromkeys(life.ids, (_EVER, with_settings))
    return replace(life, says=says, measures={life.ids[0]: (_EVER, lambda status: _using(status, 0.85))})


def _using(status: ConsumeStatus, share: float) -> ConsumeStatus:
    """With this share of 20 threads in the listener: response time × rate."""
    return status._replace(consume_rt_ms=20_000 * share / status.pull_tps) if status.pull_tps else status


def popped_again(random: Random, hours: int) -> Life:
    """Members pop, and acknowledge three of four messages."""
    life = _steady(random, hours)
    return replace(life, client_rebalance=False, owns=False, redelivers=life.fault)


def revive_stuck(random: Random, hours: int) -> Life:
    """One of the eight threads of a broker makes no progress."""
    life, topic = _steady(random, hours), "rmq_sys_REVIVE_LOG_made"
    stuck = Standing(topic, (2,), _fault(life))
    return replace(life, group=REVIVE_GROUP, routes={topic: [(ALWAYS, {"broker-a": 8})]}, standing=[stuck])


def stuck_until_deleted(random: Random, hours: int) -> Life:
    """Of one queue nothing was committed for longer than the broker keeps messages: a minute or less."""
    life = _all_the_time(_steady(random, hours))
    return replace(life, standing=[Standing("topic", (2,), _EVER)], keeps=300)


def rewound(random: Random, hours: int) -> Life:
    """An operator resets the group by some minutes."""
    life = _steady(random, hours)
    start, _ = _fault(life)
    return replace(life, rewound=start, fault=Time(start, start + 60))


def leaves_while_much_is_in_flight(random: Random, hours: int) -> Life:
    """One of two goes for good; each of its 20 queues has as many messages in flight as a client pulls ahead."""
    life = replace(_steady(random, hours, queues=40), rate=1)
    start, _ = _fault(life)
    (_, ids), *_ = life.members
    return replace(life, members=[(ALWAYS, ids), (start, ids[:1])], waiting=1500, fault=Time(start, start + 60))


def hot_queue(random: Random, hours: int) -> Life:
    life = _all_the_time(_steady(random, hours))
    return replace(life, rates={random.randrange(8): 10 * life.rate})


def remainders(random: Random, hours: int) -> Life:
    """Nine topics of one queue are all the first member's, who has one of the two queues of the tenth, too."""
    life = _all_the_time(_steady(random, hours))
    routes = {f"topic-{place}": [(ALWAYS, {"broker-a": 1})] for place in range(9)}
    return replace(life, routes={"topic": [(ALWAYS, {"broker-a": 2})], **routes})


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
        other_languages: "MIXED_CLIENTS/DIFFERENT_LANGUAGES",
        more_written_than_read: "STRANDED_WRITE_QUEUES/BEYOND_READ_QUEUES",
        broker_not_readable: "BROKER_NOT_READABLE/NO_READ_PERMISSION UNASSIGNED_QUEUE/BROKER_NOT_READABLE",
        not_in_its_group: "GHOST_MEMBER/NOT_IN_GROUP CONSUMER_STOPPED/NO_COMMITS",
        drops_a_queue: "ALLOCATION_DRIFT/HOLDS_LESS CONSUMER_STOPPED/NO_COMMITS",
        lock_missing: "ORDERLY_LOCK_MISSING/NOT_LOCKED CONSUMER_STOPPED/NO_COMMITS",
        caches_too_much: "FLOW_CONTROLLED/CACHED_MESSAGES CONSUMER_LAGGING/FALLING_BEHIND",
        busy_threads: "SLOW_LISTENER/ALL_THREADS_BUSY SLOW_LISTENER/RESPONSE_TIME_ROSE",
        near_capacity: "NEAR_CAPACITY/LISTENER",
        popped_again: "POP_REDELIVERING/NOT_ACKNOWLEDGED",
        revive_stuck: "POP_REVIVE_STUCK/REVIVE_STANDS",
        stuck_until_deleted: "CONSUMER_STALLED/NO_PROGRESS RETENTION_RISK/LOST",
        rewound: "OFFSET_REWOUND/RESET",
        leaves_while_much_is_in_flight: "REDELIVERY_EXPOSURE/QUEUES_MOVED",
        hot_queue: "PRODUCER_SKEW/HOT_QUEUES",
        remainders: "LOAD_IMBALANCE/REMAINDERS",
    }.items()
}
