"""The kinds of synthetic groups in which one thing is wrong, by name, with every finding beyond INFO of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from spark_jobs.domain.model.history import ClientState, ConsumeStatus, OwnedQueue
from spark_jobs.domain.model.message_queue import PERM_WRITE, RouteEntry
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from tests.support.synthetic_groups.lives import (
    ALWAYS,
    END,
    EVER,
    ON_TWO_BROKERS,
    Change,
    Course,
    Hosts,
    Ids,
    Life,
    Standing,
    Time,
    routes_of,
)
from tests.support.synthetic_groups.samples import REWOUND

#: When something is wrong: for a time, always, or for a moment. Recorders ask at any second of these.
FAULT, WHOLE_HOUR, MOMENT = Time(1200, 2417), Time(0, END), Time(1200, 1260)
#: By AVG the first of both has queues 0 to 3 of 8, the second 4 to 7.
FIRST, SECOND, THIRD = THREE = ("10.31.0.1@7#1", "10.31.0.2@7#2", "10.31.0.3@7#3")
BOTH = (FIRST, SECOND)
#: The processes that replace them.
NEW_FIRST, NEW_SECOND, NEW_THIRD = (one.replace("@7", "@8") for one in THREE)
STOPPED = [(ALWAYS, BOTH), (FAULT.start, ()), (FAULT.end, (NEW_FIRST, NEW_SECOND))]
ON_4, ON_8 = {"broker-a": 4}, {"broker-a": 8}
FROM_8_TO_4: Mapping[str, Course[Hosts]] = {"topic": [(ALWAYS, ON_8), (FAULT.start, ON_4)]}
REVIVE = "rmq_sys_REVIVE_LOG_synthetic"


class Fault(NamedTuple):
    """The findings, as rule/cause, and in which of its fields a `Life` differs from a healthy one.

    In that, both members share the eight queues of one broker by AVG, and consume messages as they come.
    """

    found: frozenset[str]
    differs: Mapping[str, Any]

    def life(self, random: Random) -> Life:
        healthy = Life(routes_of(ON_8), [(ALWAYS, BOTH)], rate=random.choice((5, 20)), fault=FAULT)
        return replace(healthy, **self.differs)


def fault(found: str, **differs: Any) -> Fault:
    return Fault(frozenset(found.split()), differs)


def always(found: str, **differs: Any) -> Fault:
    return fault(found, fault=WHOLE_HOUR, **differs)


def rewound(found: str, **differs: Any) -> Fault:
    """All offsets go back."""
    return fault(found, fault=MOMENT, rewound=MOMENT.start, **differs)


def during_it(*ids: str, others: Ids = BOTH, time: Time = FAULT) -> Course[Ids]:
    """These ids in this time, and before and after it the others."""
    return [(ALWAYS, others), (time.start, ids), (time.end, others)]


def stand(*queues: int, topic: str = "topic", time: Time = FAULT) -> list[Standing]:
    return [Standing(topic, queues, time)]


def reporting(ids: Sequence[str] = BOTH, time: Time = EVER, **fields: Any) -> dict[str, Change[ClientState]]:
    """These clients report other values of these fields."""
    return dict.fromkeys(ids, (time, lambda state: state._replace(**fields)))


def listing(*numbers: int) -> tuple[OwnedQueue, ...]:
    return tuple(OwnedQueue("topic", "broker-a", number, None, False) for number in numbers)


def without_7(state: ClientState) -> ClientState:
    return state._replace(owned=tuple(one for one in state.owned or () if one.queue_id != 7))


def without_lock_of_2(state: ClientState) -> ClientState:
    return state._replace(owned=tuple(one._replace(locked=one.queue_id != 2) for one in state.owned or ()))


def failing(share: float) -> Callable[[ConsumeStatus], ConsumeStatus]:
    """The listener fails for this share of the messages."""

    def changed(status: ConsumeStatus) -> ConsumeStatus:
        rate = status.pull_tps or 0.0
        return status._replace(consume_ok_tps=rate * (1 - share), consume_failed_tps=rate * share)

    return changed


def using(share: float) -> Callable[[ConsumeStatus], ConsumeStatus]:
    """This share of 20 threads is in the listener: response time × rate."""
    return lambda one: one._replace(consume_rt_ms=20_000 * share / one.pull_tps) if one.pull_tps else one


def takes_20_minutes(status: ConsumeStatus) -> ConsumeStatus:
    """Each message does, in 12 of 20 threads."""
    return status._replace(consume_rt_ms=1_200_000.0, consume_ok_tps=0.005, pull_tps=0.005)


def write_only_on_b(entry: RouteEntry) -> RouteEntry:
    return entry._replace(perm=PERM_WRITE) if entry.broker_name == "broker-b" else entry


ALL_SLOW = dict.fromkeys(BOTH, (EVER, takes_20_minutes))
DUPLICATES = "UNASSIGNED_QUEUE/DUPLICATE_CLIENT_ID DOUBLE_OWNED_QUEUE/DUPLICATE_CLIENT_ID"
OF_A_FRAMEWORK = "172.17.0.1@10.20.0.9:9876@1"
POPPING = {"client_rebalance": False, "owns": False}
TO_B = range(4, 8)

PLANTED: dict[str, Fault] = {
    # A second consumer has the first one's id: queues 3 to 5 of 8 are unassigned while it is there.
    "duplicate_id": fault(
        f"DUPLICATE_CLIENT_ID/CLONED_PROCESS {DUPLICATES}",
        members=during_it(FIRST, FIRST, SECOND),
        standing=stand(3, 4, 5),
    ),
    # Two containers have one IP and process id 1: a framework builds the same id in both.
    "duplicate_id_of_a_framework": fault(
        f"DUPLICATE_CLIENT_ID/FRAMEWORK_NAME {DUPLICATES}",
        members=during_it(OF_A_FRAMEWORK, OF_A_FRAMEWORK, others=(OF_A_FRAMEWORK,)),
        standing=stand(4, 5, 6, 7),
        answers=False,
        version=395,
    ),
    # All leave, and messages keep coming.
    "offline": fault(
        "GROUP_OFFLINE/NO_MEMBERS UNASSIGNED_QUEUE/GROUP_OFFLINE", members=STOPPED, standing=stand(*range(8))
    ),
    "stopped_behind_a_proxy": fault(
        "GROUP_OFFLINE/NO_MEMBERS UNASSIGNED_QUEUE/GROUP_OFFLINE",
        is_behind_proxy=True,
        answers=False,
        standing=stand(*range(8)),
    ),
    # The new end is above the old offsets when the group comes back, and begins there. The old ones come from at most
    # 10,000 messages before, and 30 minutes of 5 messages a second or more.
    "created_again_while_offline": fault(
        "OFFSET_BEYOND_END/FORMER_LIFE GROUP_OFFLINE/NO_MEMBERS UNASSIGNED_QUEUE/GROUP_OFFLINE",
        members=STOPPED,
        created_again=FAULT.start,
        faster=1 + (10_000 // 5 + 1800) // (FAULT.end - FAULT.start) + 1,
        former=FAULT.end - FAULT.start,
    ),
    # Each of two members subscribes to one topic: by AVG the first has queues 0 and 1 of each, the other 2 and 3.
    "split_subscription": always(
        "SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED",
        routes={topic: [(ALWAYS, ON_4)] for topic in ("retail", "wholesale")},
        subscribed={FIRST: ["retail"], SECOND: ["wholesale"]},
        standing=stand(2, 3, topic="retail", time=EVER) + stand(0, 1, topic="wholesale", time=EVER),
    ),
    # Three members are replaced, one after the other, by some that subscribe to one more topic. Clients are not asked
    # for their running info, so it is unknown who has which subscription.
    "subscribes_one_by_one": fault(
        "SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS",
        fault=Time(1200, 1680),
        routes={topic: [(ALWAYS, ON_8)] for topic in ("topic", "other")},
        members=[
            (ALWAYS, THREE),
            (1200, (NEW_FIRST, SECOND, THIRD)),
            (1440, (NEW_FIRST, NEW_SECOND, THIRD)),
            (1680, (NEW_FIRST, NEW_SECOND, NEW_THIRD)),
        ],
        subscribed=dict.fromkeys(THREE, ("topic",)),
        answers=False,
    ),
    # Of 8 queues the first takes 0, 2, 4, 6 in a circle, and the second 4 to 7: 1 and 3 are unassigned.
    "mixed_strategies": always(
        "MIXED_STRATEGIES/DIFFERENT_STRATEGIES UNASSIGNED_QUEUE/MIXED_STRATEGIES DOUBLE_OWNED_QUEUE/MIXED_STRATEGIES",
        strategies={FIRST: "AVG_BY_CIRCLE"},
        standing=stand(1, 3, time=EVER),
    ),
    "more_members_than_queues": always(
        "IDLE_CONSUMER/MORE_MEMBERS_THAN_QUEUES",
        routes=routes_of(ON_4),
        members=[(ALWAYS, (*THREE, NEW_FIRST, NEW_SECOND))],
    ),
    "a_fifth_fails": always("CONSUME_FAILING/LISTENER_FAILS", measures={FIRST: (WHOLE_HOUR, failing(0.2))}),
    "most_fails": always("CONSUME_FAILING/LISTENER_FAILS", measures={FIRST: (WHOLE_HOUR, failing(0.6))}),
    "takes_longer_than_consume_timeout": always(
        "CONSUME_FAILING/TIMED_OUT",
        measures=ALL_SLOW,
        says=reporting(consume_timeout_minutes=15),
        sends_back=WHOLE_HOUR,
    ),
    "sends_back_before_consume_timeout": always(
        "CONSUME_FAILING/SENT_BACK",
        measures=ALL_SLOW,
        says=reporting(consume_timeout_minutes=30),
        sends_back=WHOLE_HOUR,
    ),
    # Six of ten messages go to the retry topic; clients are not asked for their running info.
    "sends_messages_back": fault("CONSUME_FAILING/SENT_BACK", answers=False, sends_back=FAULT, returned=0.6),
    # Nothing of one queue is committed.
    "stuck_listener": fault("CONSUMER_STOPPED/LISTENER_HANGS", standing=stand(2)),
    # No messages come. Of those at the beginning, some of one queue wait until the fault is over.
    "stands_while_a_batch_is_worked_off": fault(
        "CONSUMER_STOPPED/LISTENER_HANGS",
        fault=Time(200, 1400),
        rate=0,
        batch=9000,
        standing=stand(2, time=Time(200, 1400)),
    ),
    "no_answer": fault(
        "CLIENT_HUNG/NO_ANSWER CONSUMER_STOPPED/NO_ANSWER", silent={FIRST: FAULT}, standing=stand(0, 1, 2, 3)
    ),
    # A group with a filter whose clients no longer pull.
    "filters_and_hangs": fault(
        "CLIENT_HUNG/NO_PULL CONSUMER_STOPPED/NO_PULL", expression="rare", no_pull=FAULT, standing=stand(*range(8))
    ),
    # The process of the first member is there, without a consumer of the group.
    "not_in_its_group": fault(
        "GHOST_MEMBER/NOT_IN_GROUP CONSUMER_STOPPED/NOT_IN_GROUP",
        says={FIRST: (FAULT, lambda _: ClientState(answered=True, in_group=False))},
        standing=stand(0, 1, 2, 3),
    ),
    # Nothing at all is recorded.
    "recorder_down": fault("UNOBSERVED/NO_SNAPSHOTS", sources_lost=FAULT),
    # Half of the messages are left, so that the lag grows all the time.
    "slow_listener": fault("CONSUMER_LAGGING/FALLING_BEHIND", slowed=FAULT),
    # The same, while a member reconnects, and is listed twice for 100 s.
    "slow_listener_reconnects": fault(
        "CONSUMER_LAGGING/FALLING_BEHIND", slowed=FAULT, members=during_it(FIRST, *BOTH, time=Time(1500, 1600))
    ),
    # More messages come in than both consume, so that they stop pulling.
    "caches_too_much": fault(
        "FLOW_CONTROLLED/CACHED_MESSAGES CONSUMER_LAGGING/FALLING_BEHIND",
        cached=dict.fromkeys(BOTH, (FAULT, 1500)),
        slowed=FAULT,
    ),
    # The second member leaves every two minutes, and is back under a new id two minutes later.
    "flapper": fault(
        "REBALANCE_STORM/MEMBER_CHANGES FLAPPING_MEMBER/NEW_ID_EACH_TIME",
        fault=Time(1200, 2280),
        members=[
            (ALWAYS, BOTH),
            *((1200 + 120 * change, (FIRST, f"{SECOND}{change}") if change % 2 else (FIRST,)) for change in range(10)),
        ],
    ),
    # Of 4 and 4 queues, those of broker-a are the first one's by both lists, and those of broker-b may be either one's.
    "split_brokers": fault(
        "MEMBERSHIP_VIEW_SPLIT/BROKERS_DISAGREE UNASSIGNED_QUEUE/VIEWS_DISAGREE",
        routes=ON_TWO_BROKERS,
        listed={"broker-b": during_it(FIRST)},
    ),
    # One of two brokers lists one of three members, every few seconds another one.
    "broker_drops_connections": fault(
        "MEMBERSHIP_VIEW_SPLIT/LIST_CHANGES UNASSIGNED_QUEUE/VIEWS_DISAGREE",
        routes=ON_TWO_BROKERS,
        members=[(ALWAYS, THREE)],
        listed={
            "broker-b": [(ALWAYS, THREE), *((at, (THREE[at % 3],)) for at in range(*FAULT, 7)), (FAULT.end, THREE)]
        },
    ),
    # Producers write to two queues beyond those that clients list.
    "more_written_than_read": always(
        "STRANDED_WRITE_QUEUES/BEYOND_READ_QUEUES",
        entries=(EVER, lambda entry: entry._replace(write_queue_nums=entry.read_queue_nums + 2)),
    ),
    # Only producers know of the queues of broker-b.
    "broker_not_readable": fault(
        "BROKER_NOT_READABLE/NO_READ_PERMISSION UNASSIGNED_QUEUE/BROKER_NOT_READABLE",
        routes=ON_TWO_BROKERS,
        entries=(FAULT, write_only_on_b),
        standing=stand(*TO_B),
    ),
    # Members cannot connect to broker-b, so it lists none, and nothing of its queues was ever committed.
    "broker_out_of_reach": always(
        "BROKER_NOT_READABLE/NOT_REACHED CONSUMER_STALLED/NOT_LISTED",
        routes=ON_TWO_BROKERS,
        listed={"broker-b": [(ALWAYS, ())]},
        uncommitted=TO_B,
    ),
    # Half of the eight queues are removed while 1,500 messages wait in each.
    "queues_removed": fault(
        "BROKER_NOT_READABLE/QUEUES_REMOVED",
        routes={**routes_of(ON_8), "topic": [(ALWAYS, ON_8), (FAULT.start, ON_4), (FAULT.end, ON_8)]},
        waiting=1500,
    ),
    "queues_removed_for_good": fault(
        "BROKER_NOT_READABLE/QUEUES_REMOVED",
        fault=Time(FAULT.start, END),
        routes={**routes_of(ON_8), "topic": [(ALWAYS, ON_8), (FAULT.start, ON_4)]},
        waiting=1500,
    ),
    # The topic in which 25 messages wait in each queue is deleted, and created again later.
    "topic_deleted_with_messages": fault(
        "BROKER_NOT_READABLE/TOPIC_GONE",
        routes={**routes_of(ON_8), "topic": [(ALWAYS, ON_8), (FAULT.start, {}), (FAULT.end, ON_8)]},
        waiting=25,
        created_again=FAULT.end,
    ),
    "drops_a_queue": fault(
        "ALLOCATION_DRIFT/HOLDS_LESS CONSUMER_STOPPED/NOT_TAKEN", says={SECOND: (FAULT, without_7)}, standing=stand(7)
    ),
    # An orderly consumer does not take one of its queues for longer than any lock lasts.
    "never_gets_a_lock": fault(
        "ALLOCATION_DRIFT/HOLDS_LESS CONSUMER_STOPPED/NOT_TAKEN",
        orderly=True,
        says={SECOND: (FAULT, without_7)},
        standing=stand(7),
    ),
    # For a time both members share the queues of broker-a alone, and those of broker-b are unassigned.
    "has_not_seen_a_broker": fault(
        "ALLOCATION_DRIFT/HOLDS_LESS CONSUMER_STOPPED/NOT_TAKEN",
        routes={"topic": ON_TWO_BROKERS["topic"]},
        says=reporting([FIRST], FAULT, owned=listing(0, 1)) | reporting([SECOND], FAULT, owned=listing(2, 3)),
        standing=stand(*TO_B),
    ),
    # The clients drop all queues when the offsets are reset, and take them again three minutes later.
    "drops_its_queues_after_a_reset": rewound(
        "OFFSET_REWOUND/RESET ALLOCATION_DRIFT/HOLDS_LESS",
        says=reporting(BOTH, Time(1200, 1400), owned=()),
        standing=stand(*range(8), time=Time(1200, 1400)),
    ),
    # The first of two orderly consumers has no lock of queue 2.
    "lock_missing": fault(
        "ORDERLY_LOCK_MISSING/NOT_LOCKED UNASSIGNED_QUEUE/WAITS_FOR_LOCK",
        orderly=True,
        says={FIRST: (FAULT, without_lock_of_2)},
        standing=stand(2),
    ),
    # The master of broker-b is away, and its queues stand when their locks are no longer good.
    "orderly_without_master": fault(
        "ORDERLY_LOCK_MISSING/NO_MASTER CONSUMER_STOPPED/NO_MASTER",
        routes=ON_TWO_BROKERS,
        orderly=True,
        slave_only=FAULT,
        standing=stand(*TO_B, time=Time(FAULT.start + 20, FAULT.end)),
    ),
    # The group does not consume in order, and gets nothing from the slave of broker-b.
    "without_master": fault(
        "CONSUMER_STOPPED/NO_MASTER", routes=ON_TWO_BROKERS, slave_only=FAULT, standing=stand(*TO_B)
    ),
    # All 20 threads of the first are in the listener. That its calls take longer is the same finding.
    "busy_threads": fault("SLOW_LISTENER/ALL_THREADS_BUSY", measures={FIRST: (FAULT, using(0.99))}),
    # 17 of the 20 threads of the first are in the listener, always.
    "near_capacity": always(
        "NEAR_CAPACITY/LISTENER",
        says=reporting(consume_batch_size=1, pull_batch_size=32, pull_interval_ms=0),
        measures={FIRST: (EVER, using(0.85))},
    ),
    # Members pop, and acknowledge three of four messages.
    "popped_again": fault("POP_REDELIVERING/NOT_ACKNOWLEDGED", **POPPING, redelivers=FAULT),
    # In addition half of the messages are left.
    "popped_again_and_behind": fault(
        "POP_REDELIVERING/NOT_ACKNOWLEDGED CONSUMER_LAGGING/FALLING_BEHIND", **POPPING, redelivers=FAULT, slowed=FAULT
    ),
    "one_broker_is_not_popped": fault(
        "CONSUMER_STOPPED/NOT_CONSUMED", **POPPING, routes=ON_TWO_BROKERS, standing=stand(*TO_B)
    ),
    # One of the eight threads of a broker makes no progress.
    "revive_stuck": fault(
        "POP_REVIVE_STUCK/REVIVE_STANDS",
        group=REVIVE_GROUP,
        routes={REVIVE: [(ALWAYS, ON_8)]},
        standing=stand(2, topic=REVIVE),
    ),
    # Nothing of one queue was committed for longer than the broker keeps messages: a minute or less.
    "stuck_until_deleted": always(
        "CONSUMER_STALLED/LISTENER_HANGS RETENTION_RISK/LOST", standing=stand(2, time=EVER), keeps=300
    ),
    # The first message of one queue hangs in the listener.
    "never_committed": always("CONSUMER_STALLED/NEVER_COMMITTED", uncommitted=[5]),
    # A message in 100 s comes to a queue that is not consumed.
    "few_messages": fault("CONSUMER_STOPPED/LISTENER_HANGS", rates={2: 0.01}, standing=stand(2)),
    # A member is replaced by one that consumes nothing for nearly five minutes.
    "hangs_since_a_rebalance": fault(
        "CONSUMER_STALLED/LISTENER_HANGS",
        fault=Time(1200, 1490),
        members=[(ALWAYS, BOTH), (1200, (FIRST, NEW_SECOND))],
        standing=stand(4, 5, 6, 7, time=Time(1200, 1490)),
    ),
    # It consumes 100 messages a second of each queue, of which 20,000 or more are there.
    "new_group_begins_at_the_oldest": fault(
        "BEGINS_AT_OLDEST/NOT_AT_THE_END",
        fault=Time(1200, 1200 + (20_000 + 10_000) // 90),
        begins=(1200, 0),
        base=20_000,
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
    ),
    # An operator resets the group by some minutes.
    "rewound": rewound("OFFSET_REWOUND/RESET"),
    # A slave serves for a minute, whose offsets end earlier.
    "rewound_by_a_slave": rewound("OFFSET_REWOUND/BROKER_SWITCHED", by_slave=True),
    # All queues go back to their oldest message, and some of it is consumed until the next round.
    "begins_again_at_the_oldest": rewound("OFFSET_REWOUND/TO_MINIMUM", keeps=REWOUND),
    # The oldest message is as far below as the offsets went back.
    "goes_back_when_a_member_leaves": rewound(
        "OFFSET_REWOUND/HAND_OVER",
        members=[(ALWAYS, BOTH), (MOMENT.start - 20, (FIRST,))],
        keeps=3 * REWOUND,
    ),
    # Nothing of one queue is consumed, and then all of it is committed at once.
    "commits_over_unread": fault(
        "CONSUMER_STOPPED/LISTENER_HANGS MESSAGES_SKIPPED/COMMITTED_UNREAD",
        fault=Time(FAULT.start, FAULT.end + 120),
        unread=True,
        standing=stand(2),
    ),
    # One of two leaves for good; each of its 20 queues has as many messages in flight as a client pulls ahead.
    "leaves_while_much_is_in_flight": fault(
        "REDELIVERY_EXPOSURE/QUEUES_MOVED",
        fault=MOMENT,
        routes=routes_of({"broker-a": 40}),
        members=[(ALWAYS, BOTH), (MOMENT.start, (FIRST,))],
        rate=1,
        waiting=1500,
    ),
    "hot_queue": always("PRODUCER_SKEW/HOT_QUEUES", rate=5, rates={3: 50}),
    # Nine topics of one queue are all the first member's, who also has one of the two queues of the tenth.
    "remainders": always(
        "LOAD_IMBALANCE/REMAINDERS",
        routes={f"topic-{number}": [(ALWAYS, {"broker-a": 1})] for number in range(9)}
        | {"topic": [(ALWAYS, {"broker-a": 2})]},
    ),
}
