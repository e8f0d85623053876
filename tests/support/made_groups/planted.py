"""The kinds of made groups with one thing wrong, and what must be said of each: every finding beyond INFO."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from random import Random

from spark_jobs.domain.model.history import ClientState, ConsumeStatus, OwnedQueue
from spark_jobs.domain.model.message_queue import PERM_WRITE, RouteEntry
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from tests.support.made_groups.kinds import Kind
from tests.support.made_groups.lives import ALWAYS, ON_TWO_BROKERS, Course, Life, Standing, Time, routes_of
from tests.support.made_groups.samples import REWOUND

#: Before the first hour, and after the last.
_EVER = Time(ALWAYS, -ALWAYS)


def _steady(random: Random, hours: int, members: int, queues: int) -> tuple[Life, Time]:
    """Members that stay, and messages that come in; something is wrong for 15 to 25 minutes of one of the hours."""
    ids = tuple(f"10.31.{random.randrange(200)}.{host}@7#{random.randrange(10**15)}" for host in range(members))
    since = random.randrange(hours) * 3600 + random.randrange(600, 1800)
    fault = Time(since, since + random.randrange(900, 1500))
    rate = random.choice((5, 20))
    return Life(routes_of({"broker-a": queues}), [(ALWAYS, ids)], rate=rate, hours=hours), fault


#: Makes of a steady life one with a fault.
_Change = Callable[[Life, Time, Random], Life]
#: What is found beyond INFO, as rule/cause.
PLANTED: dict[Kind, frozenset[str]] = {}


def planted(*found: str, members: int = 2, queues: int = 8, always: bool = False) -> Callable[[_Change], Kind]:
    """A kind in which this is found and no more. `always`: the fault lasts from the first second to the last."""

    def registered(change: _Change) -> Kind:
        @wraps(change)
        def kind(random: Random, hours: int) -> Life:
            life, fault = _steady(random, hours, members, queues)
            fault = Time(0, life.end) if always else fault
            return change(replace(life, fault=fault), fault, random)

        PLANTED[kind] = frozenset(found)
        return kind

    return registered


def _during(life: Life, fault: Time, ids: tuple[str, ...]) -> Course[tuple[str, ...]]:
    """These instead of the members, while the fault lasts."""
    return [*life.members, (fault.start, ids), (fault.end, life.members[0][1])]


@planted(
    "DUPLICATE_CLIENT_ID/CLONED_PROCESS",
    "UNASSIGNED_QUEUE/DUPLICATE_CLIENT_ID",
    "DOUBLE_OWNED_QUEUE/DUPLICATE_CLIENT_ID",
)
def twins(life: Life, fault: Time, random: Random) -> Life:
    """A second consumer with the first one's id: queues 3 to 5 of 8 are nobody's while it is there."""
    first, second = life.ids
    nobody = Standing("topic", (3, 4, 5), fault)
    return replace(life, members=_during(life, fault, (first, first, second)), standing=[nobody])


@planted("GROUP_OFFLINE/NO_MEMBERS", "UNASSIGNED_QUEUE/GROUP_OFFLINE")
def offline(life: Life, fault: Time, random: Random) -> Life:
    """All leave, and messages keep coming."""
    return replace(life, members=_during(life, fault, ()), standing=[Standing("topic", range(8), fault)])


@planted("GROUP_OFFLINE/NO_MEMBERS", "UNASSIGNED_QUEUE/GROUP_OFFLINE")
def stopped_behind_a_proxy(life: Life, fault: Time, random: Random) -> Life:
    nobody = Standing("topic", range(8), fault)
    return replace(life, connects=False, has_proxy=True, answers=False, standing=[nobody])


@planted("SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS", "UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED", always=True)
def split_subscription(life: Life, fault: Time, random: Random) -> Life:
    """Each of two members subscribes one topic: by AVG the first has queues 0 and 1 of each, the other 2 and 3."""
    first, second = life.ids
    hosts = [(ALWAYS, {"broker-a": 4})]
    return replace(
        life,
        routes={"retail": hosts, "wholesale": hosts},
        subscribed={first: ["retail"], second: ["wholesale"]},
        standing=[Standing("retail", (2, 3), _EVER), Standing("wholesale", (0, 1), _EVER)],
    )


@planted(
    "MIXED_STRATEGIES/DIFFERENT_STRATEGIES",
    "UNASSIGNED_QUEUE/MIXED_STRATEGIES",
    "DOUBLE_OWNED_QUEUE/MIXED_STRATEGIES",
    always=True,
)
def mixed_strategies(life: Life, fault: Time, random: Random) -> Life:
    """Of 8 queues the first takes 0, 2, 4, 6 in a circle, and the second 4 to 7: 1 and 3 are nobody's."""
    nobody = Standing("topic", (1, 3), _EVER)
    return replace(life, strategies={life.ids[0]: "AVG_BY_CIRCLE"}, standing=[nobody])


@planted("IDLE_CONSUMER/MORE_MEMBERS_THAN_QUEUES", members=5, queues=4, always=True)
def more_members_than_queues(life: Life, fault: Time, random: Random) -> Life:
    return life


@planted("CONSUME_FAILING/LISTENER_FAILS", always=True)
def failing_listener(life: Life, fault: Time, random: Random) -> Life:
    share = random.choice((0.2, 0.6))

    def failing(status: ConsumeStatus) -> ConsumeStatus:
        rate = status.pull_tps or 0.0
        return status._replace(consume_ok_tps=rate * (1 - share), consume_failed_tps=rate * share)

    return replace(life, measures={life.ids[0]: (fault, failing)})


def _takes_20_minutes(life: Life, consume_timeout_minutes: int) -> Life:
    """Each message, in 12 of the 20 threads of all clients, which report this consumeTimeout."""

    def slow(status: ConsumeStatus) -> ConsumeStatus:
        return status._replace(consume_rt_ms=1_200_000.0, consume_ok_tps=0.005, pull_tps=0.005)

    def with_timeout(state: ClientState) -> ClientState:
        return state._replace(consume_timeout_minutes=consume_timeout_minutes)

    return replace(
        life, measures=dict.fromkeys(life.ids, (_EVER, slow)), says=dict.fromkeys(life.ids, (_EVER, with_timeout))
    )


@planted("CONSUME_FAILING/TIMED_OUT", always=True)
def takes_longer_than_consume_timeout(life: Life, fault: Time, random: Random) -> Life:
    return replace(_takes_20_minutes(life, 15), sends_back=fault)


@planted("CONSUME_FAILING/SENT_BACK", always=True)
def sends_back_in_time(life: Life, fault: Time, random: Random) -> Life:
    """A message takes long, but no longer than consumeTimeout."""
    return replace(_takes_20_minutes(life, 30), sends_back=fault)


@planted("CONSUMER_STOPPED/NO_COMMITS")
def stuck_listener(life: Life, fault: Time, random: Random) -> Life:
    """Of one queue nothing is committed."""
    return replace(life, standing=[Standing("topic", (2,), fault)])


@planted("CLIENT_HUNG/NO_ANSWER", "CONSUMER_STOPPED/NO_COMMITS")
def no_answer(life: Life, fault: Time, random: Random) -> Life:
    """The first of two hangs, and its queues 0 to 3 of 8 with it."""
    return replace(life, silent={life.ids[0]: fault}, standing=[Standing("topic", range(4), fault)])


@planted("UNOBSERVED/NO_SNAPSHOTS")
def recorder_down(life: Life, fault: Time, random: Random) -> Life:
    """Nothing at all was recorded."""
    return replace(life, sources_lost=fault)


@planted("CONSUMER_LAGGING/FALLING_BEHIND")
def slow_listener(life: Life, fault: Time, random: Random) -> Life:
    """Half of the messages are left, so that the lag grows all the time; in half of them a member reconnects meanwhile,
    and is listed twice for 100 s.
    """
    second = random.randrange(fault.start + 120, fault.end - 220)
    ((_, ids),) = life.members
    twice = [(ALWAYS, ids), (second, (*ids, ids[0])), (second + 100, ids)]
    return replace(life, slowed=fault, members=twice if random.random() < 0.5 else life.members)


@planted("REBALANCE_STORM/MEMBER_CHANGES", "FLAPPING_MEMBER/NEW_ID_EACH_TIME")
def flapper(life: Life, fault: Time, random: Random) -> Life:
    """One of two members leaves every two minutes, and is back under a new id two minutes later."""
    (start, end), (first, second) = fault, life.ids
    changes: list[tuple[int, tuple[str, ...]]] = [(ALWAYS, (first, second))]
    for place, at in enumerate(range(start, end - 119, 120)):
        changes.append((at, (first, f"{second.partition('@')[0]}@7#{place}") if place % 2 else (first,)))
    return replace(life, members=changes, fault=Time(start, changes[-1][0]))


@planted("MEMBERSHIP_VIEW_SPLIT/BROKERS_DISAGREE", "UNASSIGNED_QUEUE/VIEWS_DISAGREE")
def split_brokers(life: Life, fault: Time, random: Random) -> Life:
    """One of two brokers lists one of two members only: of 4 and 4 queues, 0 to 3 of broker-a are the first one's by
    both lists, and those of broker-b may be either one's.
    """
    return replace(life, routes=ON_TWO_BROKERS, listed={"broker-b": _during(life, fault, tuple(life.ids[:1]))})


@planted("MEMBERSHIP_VIEW_SPLIT/LIST_CHANGES", "UNASSIGNED_QUEUE/VIEWS_DISAGREE", members=3)
def broker_drops_connections(life: Life, fault: Time, random: Random) -> Life:
    """One of two brokers lists one of three members, every few seconds another one."""
    changes = [(second, (random.choice(life.ids),)) for second in range(fault.start, fault.end, 7)]
    listed = [*life.members, *changes, (fault.end, life.members[0][1])]
    return replace(life, routes=ON_TWO_BROKERS, listed={"broker-b": listed})


@planted("STRANDED_WRITE_QUEUES/BEYOND_READ_QUEUES", always=True)
def more_written_than_read(life: Life, fault: Time, random: Random) -> Life:
    """Producers write to two queues beyond those that clients list."""
    return replace(life, entries=(_EVER, lambda entry: entry._replace(write_queue_nums=entry.read_queue_nums + 2)))


@planted("BROKER_NOT_READABLE/NO_READ_PERMISSION", "UNASSIGNED_QUEUE/BROKER_NOT_READABLE")
def broker_not_readable(life: Life, fault: Time, random: Random) -> Life:
    """Of the queues of broker-b, 4 to 7 of 8, producers alone know."""

    def write_only(entry: RouteEntry) -> RouteEntry:
        return entry._replace(perm=PERM_WRITE) if entry.broker_name == "broker-b" else entry

    nobody = Standing("topic", range(4, 8), fault)
    return replace(life, routes=ON_TWO_BROKERS, entries=(fault, write_only), standing=[nobody])


@planted("GHOST_MEMBER/NOT_IN_GROUP", "CONSUMER_STOPPED/NO_COMMITS")
def not_in_its_group(life: Life, fault: Time, random: Random) -> Life:
    """The process of the first of two is there, without a consumer of the group: queues 0 to 3 of 8."""
    gone = ClientState(answered=True, in_group=False)
    return replace(life, says={life.ids[0]: (fault, lambda _: gone)}, standing=[Standing("topic", range(4), fault)])


@planted("ALLOCATION_DRIFT/HOLDS_LESS", "CONSUMER_STOPPED/NO_COMMITS")
def drops_a_queue(life: Life, fault: Time, random: Random) -> Life:
    """The second of two, which has 4 to 7 of 8, has lost the last."""

    def without_7(state: ClientState) -> ClientState:
        return state._replace(owned=tuple(one for one in state.owned or () if one.queue_id != 7))

    says = {life.ids[1]: (fault, without_7)}
    return replace(life, says=says, standing=[Standing("topic", (7,), fault)])


@planted("ALLOCATION_DRIFT/HOLDS_LESS", "CONSUMER_STOPPED/NO_COMMITS")
def never_gets_a_lock(life: Life, fault: Time, random: Random) -> Life:
    """A queue of an orderly consumer that it has not taken for longer than any lock lasts."""
    lacking: Life = drops_a_queue.__wrapped__(replace(life, orderly=True), fault, random)  # type: ignore[attr-defined]
    return lacking


@planted("ALLOCATION_DRIFT/HOLDS_LESS", "CONSUMER_STOPPED/NO_COMMITS")
def has_not_seen_a_broker(life: Life, fault: Time, random: Random) -> Life:
    """For a time both members share the queues of broker-a alone, and nobody has those of broker-b."""

    def share(first: bool) -> Callable[[ClientState], ClientState]:
        numbers = (0, 1) if first else (2, 3)
        owned = tuple(OwnedQueue("topic", "broker-a", number, None, False) for number in numbers)
        return lambda state: state._replace(owned=owned)

    says = {one: (fault, share(one == min(life.ids))) for one in life.ids}
    nobody = Standing("topic", range(4, 8), fault)
    return replace(life, routes={"topic": ON_TWO_BROKERS["topic"]}, says=says, standing=[nobody])


@planted("OFFSET_REWOUND/RESET", "ALLOCATION_DRIFT/HOLDS_LESS")
def drops_its_queues_after_a_reset(life: Life, fault: Time, random: Random) -> Life:
    """The clients drop all queues when the offsets are reset, and take them again three minutes later."""
    pause = Time(fault.start, fault.start + 200)
    says = dict.fromkeys(life.ids, (pause, lambda state: state._replace(owned=())))
    nobody = Standing("topic", range(8), pause)
    return replace(life, rewound=fault.start, says=says, standing=[nobody], fault=Time(fault.start, fault.start + 60))


@planted("CONSUME_FAILING/SENT_BACK")
def sends_messages_back(life: Life, fault: Time, random: Random) -> Life:
    """Six of ten messages go to the retry topic; clients are not asked for their running info."""
    return replace(life, answers=False, sends_back=fault, returned=0.6)


@planted("SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS", members=3)
def subscribes_one_by_one(life: Life, fault: Time, random: Random) -> Life:
    """Three members are replaced, one after the other, by some that subscribe another topic, too. Clients are not asked
    for their running info, so who has which subscription is not known.
    """
    ((_, ids),) = life.members
    again = tuple(f"{one.partition('@')[0]}@8#{random.randrange(10**15)}" for one in ids)
    members = [(ALWAYS, ids)]
    members += [(fault.start + 240 * place, (*again[: place + 1], *ids[place + 1 :])) for place in range(3)]
    hosts = life.routes["topic"]
    return replace(
        life,
        routes={"topic": hosts, "other": hosts},
        members=members,
        answers=False,
        subscribed=dict.fromkeys(ids, ("topic",)),
        fault=Time(fault.start, fault.start + 480),
    )


@planted(
    "DUPLICATE_CLIENT_ID/FRAMEWORK_NAME",
    "UNASSIGNED_QUEUE/DUPLICATE_CLIENT_ID",
    "DOUBLE_OWNED_QUEUE/DUPLICATE_CLIENT_ID",
)
def twins_of_a_framework(life: Life, fault: Time, random: Random) -> Life:
    """Two containers with one IP and process id 1: a framework builds the same id in both."""
    one = "172.17.0.1@10.20.0.9:9876@1"
    members = [(ALWAYS, (one,)), (fault.start, (one, one)), (fault.end, (one,))]
    return replace(life, members=members, answers=False, standing=[Standing("topic", range(4, 8), fault)], version=395)


@planted("ORDERLY_LOCK_MISSING/NOT_LOCKED", "UNASSIGNED_QUEUE/WAITS_FOR_LOCK")
def lock_missing(life: Life, fault: Time, random: Random) -> Life:
    """The first of two orderly consumers has no lock of queue 2."""
    life = replace(life, orderly=True)

    def unlocked(state: ClientState) -> ClientState:
        owned = (one._replace(locked=one.queue_id != 2) for one in state.owned or ())
        return state._replace(owned=tuple(owned))

    says = {life.ids[0]: (fault, unlocked)}
    return replace(life, says=says, standing=[Standing("topic", (2,), fault)])


@planted("FLOW_CONTROLLED/CACHED_MESSAGES", "CONSUMER_LAGGING/FALLING_BEHIND")
def caches_too_much(life: Life, fault: Time, random: Random) -> Life:
    """What comes in is too much for both, so that they stop pulling."""
    return replace(life, cached=dict.fromkeys(life.ids, (fault, 1500)), slowed=fault)


@planted("SLOW_LISTENER/ALL_THREADS_BUSY", "SLOW_LISTENER/RESPONSE_TIME_ROSE")
def busy_threads(life: Life, fault: Time, random: Random) -> Life:
    """All 20 threads of the first are in the listener."""
    return replace(life, measures={life.ids[0]: (fault, lambda status: _using(status, 0.99))})


@planted("NEAR_CAPACITY/LISTENER", always=True)
def near_capacity(life: Life, fault: Time, random: Random) -> Life:
    """17 of the 20 threads of the first are in the listener, always."""

    def with_settings(state: ClientState) -> ClientState:
        return state._replace(consume_batch_size=1, pull_batch_size=32, pull_interval_ms=0)

    says = dict.fromkeys(life.ids, (_EVER, with_settings))
    return replace(life, says=says, measures={life.ids[0]: (_EVER, lambda status: _using(status, 0.85))})


def _using(status: ConsumeStatus, share: float) -> ConsumeStatus:
    """With this share of 20 threads in the listener: response time × rate."""
    return status._replace(consume_rt_ms=20_000 * share / status.pull_tps) if status.pull_tps else status


@planted("POP_REDELIVERING/NOT_ACKNOWLEDGED")
def popped_again(life: Life, fault: Time, random: Random) -> Life:
    """Members pop, and acknowledge three of four messages."""
    return replace(life, client_rebalance=False, owns=False, redelivers=fault)


@planted("POP_REDELIVERING/NOT_ACKNOWLEDGED", "CONSUMER_LAGGING/FALLING_BEHIND")
def popped_again_and_behind(life: Life, fault: Time, random: Random) -> Life:
    """Half of the messages are left besides."""
    return replace(life, client_rebalance=False, owns=False, redelivers=fault, slowed=fault)


@planted("POP_REVIVE_STUCK/REVIVE_STANDS")
def revive_stuck(life: Life, fault: Time, random: Random) -> Life:
    """One of the eight threads of a broker makes no progress."""
    topic = "rmq_sys_REVIVE_LOG_made"
    stuck = Standing(topic, (2,), fault)
    return replace(life, group=REVIVE_GROUP, routes={topic: [(ALWAYS, {"broker-a": 8})]}, standing=[stuck])


@planted("CONSUMER_STALLED/NO_PROGRESS", "RETENTION_RISK/LOST", always=True)
def stuck_until_deleted(life: Life, fault: Time, random: Random) -> Life:
    """Of one queue nothing was committed for longer than the broker keeps messages: a minute or less."""
    return replace(life, standing=[Standing("topic", (2,), _EVER)], keeps=300)


@planted("BEGINS_AT_OLDEST/NOT_AT_THE_END")
def new_group_begins_at_the_oldest(life: Life, fault: Time, random: Random) -> Life:
    """It consumes 100 messages a second of each queue, of which 20,000 or more are there."""
    moment = Time(fault.start, fault.start + (20_000 + 10_000) // 90)
    begins, where = (fault.start, 0), "CONSUME_FROM_LAST_OFFSET"
    return replace(life, begins=begins, base=20_000, consume_from_where=where, fault=moment)


@planted("OFFSET_REWOUND/RESET")
def rewound(life: Life, fault: Time, random: Random) -> Life:
    """An operator resets the group by some minutes."""
    return replace(life, rewound=fault.start, fault=Time(fault.start, fault.start + 60))


@planted("OFFSET_REWOUND/BROKER_SWITCHED")
def slave_serves(life: Life, fault: Time, random: Random) -> Life:
    """A slave serves for a minute, whose offsets end earlier."""
    moment = Time(fault.start, fault.start + 60)
    return replace(life, rewound=fault.start, by_slave=True, fault=moment)


@planted("CONSUMER_STOPPED/NO_COMMITS", "MESSAGES_SKIPPED/COMMITTED_UNREAD")
def commits_over_unread(life: Life, fault: Time, random: Random) -> Life:
    """Nothing of one queue is consumed, and then all of it is committed at once."""
    standing = [Standing("topic", (2,), fault)]
    return replace(life, unread=True, standing=standing, fault=Time(fault.start, fault.end + 120))


@planted("CLIENT_HUNG/NO_PULL", "CONSUMER_STOPPED/NO_COMMITS")
def filters_and_hangs(life: Life, fault: Time, random: Random) -> Life:
    """A group with a filter whose clients pull no more."""
    return replace(life, expression="rare", no_pull=fault, standing=[Standing("topic", range(8), fault)])


@planted("REDELIVERY_EXPOSURE/QUEUES_MOVED", queues=40)
def leaves_while_much_is_in_flight(life: Life, fault: Time, random: Random) -> Life:
    """One of two goes for good; each of its 20 queues has as many messages in flight as a client pulls ahead."""
    ((_, ids),) = life.members
    moment = Time(fault.start, fault.start + 60)
    return replace(life, rate=1, members=[(ALWAYS, ids), (fault.start, ids[:1])], waiting=1500, fault=moment)


@planted("PRODUCER_SKEW/HOT_QUEUES", always=True)
def hot_queue(life: Life, fault: Time, random: Random) -> Life:
    return replace(life, rates={random.randrange(8): 10 * life.rate})


@planted("LOAD_IMBALANCE/REMAINDERS", always=True)
def remainders(life: Life, fault: Time, random: Random) -> Life:
    """Nine topics of one queue are all the first member's, who has one of the two queues of the tenth, too."""
    routes = {f"topic-{place}": [(ALWAYS, {"broker-a": 1})] for place in range(9)}
    return replace(life, routes={"topic": [(ALWAYS, {"broker-a": 2})], **routes})


@planted("BROKER_NOT_READABLE/NOT_REACHED", "CONSUMER_STALLED/NEVER_COMMITTED", always=True)
def broker_out_of_reach(life: Life, fault: Time, random: Random) -> Life:
    """Members cannot connect to broker-b, so it lists nobody, and nothing of its queues was ever committed."""
    return replace(life, routes=ON_TWO_BROKERS, listed={"broker-b": [(ALWAYS, ())]}, uncommitted=range(4, 8))


@planted("CONSUMER_STALLED/NEVER_COMMITTED", always=True)
def never_committed(life: Life, fault: Time, random: Random) -> Life:
    """The first message of one queue hangs in the listener."""
    return replace(life, uncommitted=(random.randrange(8),))


@planted("CONSUMER_STALLED/FEW_MESSAGES")
def few_messages(life: Life, fault: Time, random: Random) -> Life:
    """A message in 100 s comes to a queue that nobody consumes."""
    return replace(life, rates={2: 0.01}, standing=[Standing("topic", (2,), fault)])


@planted("CONSUMER_STALLED/NO_PROGRESS")
def hangs_since_a_rebalance(life: Life, fault: Time, random: Random) -> Life:
    """A member is replaced by one that consumes nothing for nearly five minutes: of queues 4 to 7 of 8."""
    first, second = sorted(life.ids)
    fault = Time(fault.start, fault.start + 290)
    again = f"{second.partition('@')[0]}@8#{random.randrange(10**15)}"
    nobody = Standing("topic", range(4, 8), fault)
    return replace(
        life, members=[(ALWAYS, (first, second)), (fault.start, (first, again))], standing=[nobody], fault=fault
    )


@planted("BROKER_NOT_READABLE/QUEUES_REMOVED")
def queues_removed(life: Life, fault: Time, random: Random) -> Life:
    """Half of the eight queues are removed while 1,500 messages wait in each."""
    hosts = [(ALWAYS, {"broker-a": 8}), (fault.start, {"broker-a": 4}), (fault.end, {"broker-a": 8})]
    return replace(life, routes={**life.routes, "topic": hosts}, waiting=1500)


@planted("BROKER_NOT_READABLE/QUEUES_REMOVED")
def queues_removed_for_good(life: Life, fault: Time, random: Random) -> Life:
    """The same, until the last hour ends."""
    hosts = [(ALWAYS, {"broker-a": 8}), (fault.start, {"broker-a": 4})]
    routes = {**life.routes, "topic": hosts}
    return replace(life, routes=routes, waiting=1500, fault=Time(fault.start, life.end))


@planted("OFFSET_BEYOND_END/FORMER_LIFE", "GROUP_OFFLINE/NO_MEMBERS", "UNASSIGNED_QUEUE/GROUP_OFFLINE")
def created_again_while_nobody_is_there(life: Life, fault: Time, random: Random) -> Life:
    """The new end is above the old offsets when the group comes back, and begins there. The old ones come from at most
    10,000 messages before, and from what came since a while before the first hour, at 5 messages a second or more.
    """
    members, lasting = _during(life, fault, ()), fault.end - fault.start
    faster = 1 + -(-(10_000 // 5 + 600 + fault.start) // lasting)
    return replace(life, members=members, made_again=fault.start, faster=faster, former=lasting)


@planted("BROKER_NOT_READABLE/TOPIC_GONE")
def topic_deleted_with_messages(life: Life, fault: Time, random: Random) -> Life:
    """Somebody deletes the topic in which 25 messages wait in each queue, and creates it again later."""
    hosts = life.routes["topic"][0][1]
    routes = {**life.routes, "topic": [(ALWAYS, hosts), (fault.start, {}), (fault.end, hosts)]}
    return replace(life, routes=routes, waiting=25, made_again=fault.end)


@planted("ORDERLY_LOCK_MISSING/NO_MASTER", "CONSUMER_STOPPED/NO_MASTER")
def orderly_without_master(life: Life, fault: Time, random: Random) -> Life:
    """The master of broker-b is away, and its queues, 4 to 7 of 8, stand when their locks are no longer good."""
    nobody = Standing("topic", range(4, 8), Time(fault.start + 20, fault.end))
    return replace(life, routes=ON_TWO_BROKERS, orderly=True, slave_only=fault, standing=[nobody])


@planted("CONSUMER_STOPPED/NO_MASTER")
def slave_that_serves_nobody(life: Life, fault: Time, random: Random) -> Life:
    """The master of broker-b is away, and the group, which does not consume in order, gets nothing from its slave."""
    nobody = Standing("topic", range(4, 8), fault)
    return replace(life, routes=ON_TWO_BROKERS, slave_only=fault, standing=[nobody])


@planted("CONSUMER_STOPPED/NO_COMMITS")
def stands_while_a_batch_is_worked_off(life: Life, fault: Time, random: Random) -> Life:
    """No messages come. Of those that are there at the beginning, some of one queue wait until the fault is over."""
    fault = Time(200, 1400)
    return replace(life, rate=0, batch=9000, standing=[Standing("topic", (2,), fault)], fault=fault)


@planted("CONSUMER_STOPPED/NOT_CONSUMED")
def nobody_pops_one_broker(life: Life, fault: Time, random: Random) -> Life:
    """Members pop the queues of one of two brokers only."""
    nobody = Standing("topic", range(4, 8), fault)
    return replace(life, routes=ON_TWO_BROKERS, client_rebalance=False, owns=False, standing=[nobody])


@planted("OFFSET_REWOUND/TO_MINIMUM")
def begins_again_at_the_oldest(life: Life, fault: Time, random: Random) -> Life:
    """All queues go back to their oldest message, and some of it is consumed until the next round."""
    return replace(life, rewound=fault.start, keeps=REWOUND, fault=Time(fault.start, fault.start + 60))


@planted("OFFSET_REWOUND/HAND_OVER")
def goes_back_when_a_member_leaves(life: Life, fault: Time, random: Random) -> Life:
    """The oldest message is as far below as the offsets went back."""
    ((_, ids),) = life.members
    members = [(ALWAYS, ids), (fault.start - 20, ids[:1])]
    moment = Time(fault.start, fault.start + 60)
    return replace(life, members=members, rewound=fault.start, keeps=3 * REWOUND, fault=moment)
