"""Links between rules: which findings are symptoms of which, and what a symptom and its root cause share."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import starmap
from typing import NamedTuple

from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.coverage import OFFSETS
from spark_jobs.domain.kernel.triggers import host
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.clients import ThrottleCause
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.status.utilization import Bottleneck

#: What a finding has; it shares at least one of these with its root.
Shares = Callable[[Finding], Iterable[Hashable]]


class Follows(NamedTuple):
    """Findings of a rule follow from those of the rule `root` that stand at the same time and share one of `shares`.

    `causes`: only findings with one of these causes follow, `root_causes`: only from those with one of these; None:
    with any. `within`: a finding also follows if it begins so many microseconds after the root's end, or earlier.
    """

    root: str
    shares: Shares
    causes: tuple[str, ...] | None = None
    root_causes: tuple[str, ...] | None = None
    within: int = 0

    def may_follow(self, cause: str | None) -> bool:
        """Return whether findings with this cause may follow."""
        return self.causes is None or cause in self.causes

    def is_root(self, finding: Finding) -> bool:
        """Return whether findings may follow from this one."""
        return finding.rule == self.root and (self.root_causes is None or finding.cause in self.root_causes)


def everything(_: Finding) -> Iterable[Hashable]:
    """All findings share it: of the step of a group as symptoms, of a cluster as parts of one incident."""
    return ((),)


def topics(finding: Finding) -> Iterable[Hashable]:
    """The topic, or those of its queues."""
    return {finding.topic, *(queue.topic for queue in finding.evidence.queues)} - {None}


def queues(finding: Finding) -> Iterable[Hashable]:
    """Its queues."""
    return {(queue.topic, queue.broker_name, queue.queue_id) for queue in finding.evidence.queues}


def brokers(finding: Finding) -> Iterable[Hashable]:
    """The brokers of its queues."""
    return {queue.broker_name for queue in finding.evidence.queues}


def brokers_that_list_fewer(finding: Finding) -> Iterable[Hashable]:
    """The brokers that lack a client that another one lists; of another rule's finding, those of its queues."""
    if finding.rule != "MEMBERSHIP_VIEW_SPLIT":
        return brokers(finding)
    views = finding.evidence.conflicting_values or ()
    most = max((len(view.client_ids or ()) for view in views), default=0)
    return {view.name for view in views if len(view.client_ids or ()) < most}


def topics_of_some(finding: Finding) -> Iterable[Hashable]:
    """The topics that only some members subscribe to; of a gap, those whose offsets alone lack snapshots: brokers leave
    out topics that are not in the group's last subscription (`AdminBrokerProcessor.getConsumeStats`).
    """
    names = [value.name for value in finding.evidence.conflicting_values or ()]
    if finding.rule != "SUBSCRIPTION_MISMATCH":
        sources = [name.partition(": ") for name in names]
        return {topic for _, _, topic in sources} if all(table == OFFSETS for table, _, _ in sources) else ()
    topics_of = [{subscribed.partition(": ")[0] for subscribed in name.split(", ")} for name in names]
    return set[str]().union(*topics_of) - topics_of[0].intersection(*topics_of) if topics_of else ()


def clients(finding: Finding) -> Iterable[Hashable]:
    """The client ids that it is about or names."""
    return {finding.client_id, *finding.evidence.named_clients} - {None}


def named_clients(finding: Finding) -> Iterable[Hashable]:
    """The client ids that it names, without those of its conflicting values; its subject where it names none."""
    return finding.evidence.client_ids or (finding.subject,)


def own_client(finding: Finding) -> Iterable[Hashable]:
    """The client id that it is about."""
    return {finding.client_id} - {None}


def hosts(finding: Finding) -> Iterable[Hashable]:
    """The hosts of the client ids that it names; an id without one stands for itself."""
    return {host(client_id) or client_id for client_id in finding.evidence.client_ids}


_STOPPED, _STALLED = Follows("CONSUMER_STOPPED", queues), Follows("CONSUMER_STALLED", queues)
#: Causes of CONSUME_FAILING that slow a member down.
_FAILS = ("LISTENER_FAILS", "TIMED_OUT", StandingCause.RETRIED_IN_PLACE, StandingCause.NOT_SENT_BACK)
#: A queue stands still or falls behind because of its owner, or because of what its broker gets or cannot give.
_BEHIND = (
    Follows("GROUP_OFFLINE", everything),
    Follows("GHOST_MEMBER", queues),
    Follows("CLIENT_HUNG", queues),
    Follows("ALLOCATION_DRIFT", queues),
    Follows("DUPLICATE_CLIENT_ID", clients),
    Follows("ORDERLY_LOCK_MISSING", queues),
    Follows("CONSUME_FAILING", clients, root_causes=_FAILS),
    Follows("CONSUME_FAILING", queues),
    Follows("OFFSET_BEYOND_END", queues),
)
#: The rules by which an owner is slow, and of a queue that stands the causes that may be of such an owner.
_SLOW = (
    ("SLOW_LISTENER", clients),
    ("PRODUCER_SKEW", queues),
    ("NEAR_CAPACITY", clients),
    ("LONG_PULL_INTERVAL", clients),
)
_MAY_BE_SLOW = (
    StandingCause.PULLS_SELDOM,
    StandingCause.SLOW_CALLS,
    StandingCause.LISTENER_HANGS,
    StandingCause.UNEXPLAINED,
    StandingCause.NOT_REPORTED,
)
#: Members that do not subscribe to the topic leave queues that their replayed owners do not hold.
_MAY_BE_NOT_TAKEN = (StandingCause.NOT_TAKEN, StandingCause.NOT_REPORTED, StandingCause.NEVER_COMMITTED)
_STANDING = (
    *_BEHIND,
    Follows("BROKER_NOT_READABLE", queues, within=60 * SECOND),
    *(Follows(rule, shares, _MAY_BE_SLOW) for rule, shares in _SLOW),
    Follows("SUBSCRIPTION_MISMATCH", everything, _MAY_BE_NOT_TAKEN, ("DIFFERENT_TOPICS",)),
    Follows("MEMBERSHIP_VIEW_SPLIT", topics, (StandingCause.NOT_LISTED,)),
    # What is skipped in the end is worse than that the application did not pull it.
    Follows("MESSAGES_SKIPPED", queues, (StandingCause.NOT_PULLED,)),
)
#: Messages that hang one after the other hold back offsets first, until the listener finishes none.
_HANGS = (StandingCause.LISTENER_HANGS,)
_ALL_BUSY = ("ALL_THREADS_BUSY",)
_BY_AMOUNT = (ThrottleCause.CACHED_MESSAGES, ThrottleCause.CACHED_SIZE)
#: By rule, whose symptom its findings are, the likeliest root cause first. Rules without one have no line.
LINKS: Mapping[str, tuple[Follows, ...]] = {
    "UNASSIGNED_QUEUE": (
        Follows("DUPLICATE_CLIENT_ID", clients, (UnassignedCause.DUPLICATE_CLIENT_ID,)),
        Follows("GROUP_OFFLINE", everything, (UnassignedCause.GROUP_OFFLINE,)),
        Follows("SUBSCRIPTION_MISMATCH", everything, (UnassignedCause.MEMBER_NOT_SUBSCRIBED,)),
        Follows("MIXED_STRATEGIES", everything, (UnassignedCause.MIXED_STRATEGIES,)),
        Follows("MIXED_CLIENTS", everything, (UnassignedCause.MIXED_CLIENTS, UnassignedCause.MEMBER_BROADCASTS)),
        Follows("MEMBERSHIP_VIEW_SPLIT", topics, ("VIEWS_DISAGREE",)),
        Follows("ORDERLY_LOCK_MISSING", queues, (UnassignedCause.WAITS_FOR_LOCK, "LOCK_NOT_RELEASED")),
        Follows("BROKER_NOT_READABLE", queues, (UnassignedCause.BROKER_NOT_READABLE,)),
    ),
    "DOUBLE_OWNED_QUEUE": (
        Follows("DUPLICATE_CLIENT_ID", clients, (DoubleOwnedCause.DUPLICATE_CLIENT_ID,)),
        Follows("MIXED_STRATEGIES", everything, (DoubleOwnedCause.MIXED_STRATEGIES,)),
        Follows("MIXED_CLIENTS", everything, (DoubleOwnedCause.MIXED_CLIENTS,)),
    ),
    "IDLE_CONSUMER": (
        Follows("DUPLICATE_CLIENT_ID", everything, ("PUSHED_OUT_BY_DUPLICATES",)),
        Follows("BROKER_NOT_READABLE", everything, ("MORE_MEMBERS_THAN_QUEUES",)),
    ),
    "REBALANCE_STORM": (
        Follows("FLAPPING_MEMBER", everything, ("MEMBER_CHANGES",)),
        Follows("DUPLICATE_CLIENT_ID", clients, ("MEMBER_CHANGES",)),
        Follows("ROLLOUT", everything, ("MEMBER_CHANGES",)),
        Follows("BROKER_NOT_READABLE", everything, ("ROUTE_CHANGES",)),
    ),
    "FLAPPING_MEMBER": (Follows("GROUP_OFFLINE", everything, root_causes=("BETWEEN_RUNS", "NO_HEARTBEATS")),),
    "REDELIVERY_EXPOSURE": (
        Follows("FLAPPING_MEMBER", everything),
        Follows("ROLLOUT", everything),
        Follows("REBALANCE_STORM", everything),
    ),
    "STRANDED_WRITE_QUEUES": (Follows("BROKER_NOT_READABLE", queues, root_causes=("QUEUES_REMOVED",)),),
    "LOAD_IMBALANCE": (
        # Shares that an id which counts twice makes uneven.
        Follows("DUPLICATE_CLIENT_ID", clients, ("HASH_RING", "ROOMS", "REMAINDERS")),
        Follows("BROKER_NOT_READABLE", topics, ("HASH_RING", "ROOMS")),
        Follows("PRODUCER_SKEW", everything, ("UNEQUAL_TRAFFIC",)),
    ),
    "ALLOCATION_DRIFT": (
        Follows("CLIENT_HUNG", clients),
        Follows("DUPLICATE_CLIENT_ID", clients),
        Follows("MIXED_CLIENTS", clients),
        Follows("OFFSET_REWOUND", queues),
    ),
    "FLOW_CONTROLLED": (
        Follows("OFFSET_HELD_BACK", queues, (ThrottleCause.CACHED_SPAN,)),
        Follows("CLIENT_HUNG", clients),
        Follows("CONSUME_FAILING", queues, _BY_AMOUNT),
        Follows("CONSUME_FAILING", queues, root_causes=(StandingCause.NOT_SENT_BACK,)),
        Follows("SLOW_LISTENER", clients),
        Follows("NEAR_CAPACITY", clients, _BY_AMOUNT, (Bottleneck.ORDERED_QUEUE,)),
        _STOPPED,
        _STALLED,
    ),
    "ORDERLY_LOCK_MISSING": (
        Follows("DUPLICATE_CLIENT_ID", clients),
        Follows("CLIENT_HUNG", queues),
        Follows("MEMBERSHIP_VIEW_SPLIT", topics),
    ),
    "SLOW_LISTENER": (
        Follows("CONSUME_FAILING", clients, ("RESPONSE_TIME_ROSE",), (StandingCause.RETRIED_IN_PLACE,)),
        Follows("CONSUME_FAILING", clients, _ALL_BUSY, ("TIMED_OUT",)),
        Follows("CONSUME_FAILING", everything, _ALL_BUSY, ("DELIVERED_AGAIN",)),
        Follows("PRODUCER_SKEW", clients, _ALL_BUSY),
        Follows("LOAD_IMBALANCE", named_clients, _ALL_BUSY),
        Follows("BEGINS_AT_OLDEST", everything, _ALL_BUSY),
        # Clients report what they consumed in their last minute.
        Follows("OFFSET_REWOUND", clients, _ALL_BUSY, within=120 * SECOND),
        Follows("OFFSET_REWOUND", queues, _ALL_BUSY, within=120 * SECOND),
    ),
    "NEAR_CAPACITY": (
        Follows("SLOW_LISTENER", clients),
        Follows("PRODUCER_SKEW", queues),
        Follows("CONSUME_FAILING", clients, (Bottleneck.ORDERED_QUEUE,), (StandingCause.RETRIED_IN_PLACE,)),
    ),
    "CONSUME_FAILING": (Follows("CONSUME_FAILING", everything, ("GIVEN_UP",), (*_FAILS, "SENT_BACK")),),
    "POP_REDELIVERING": (
        Follows("CLIENT_HUNG", everything),
        Follows("CONSUME_FAILING", everything, root_causes=(*_FAILS, "SENT_BACK", "DELIVERED_AGAIN", "GIVEN_UP")),
        Follows("SLOW_LISTENER", everything),
    ),
    "MESSAGES_SKIPPED": (Follows("OFFSET_BEYOND_END", queues, root_causes=("OLDEST_BEYOND_END",)),),
    "UNOBSERVED": (Follows("SUBSCRIPTION_MISMATCH", topics_of_some, ("NO_SNAPSHOTS",), ("DIFFERENT_TOPICS",)),),
    "CONSUMER_STOPPED": _STANDING,
    "OFFSET_HELD_BACK": (
        Follows("CONSUMER_STOPPED", queues, root_causes=_HANGS),
        Follows("CONSUMER_STALLED", queues, root_causes=_HANGS),
    ),
    "CONSUMER_STALLED": (
        *_STANDING,
        # Such as of the retry topic, or of queues that moved to the same consumer.
        Follows("CONSUMER_STOPPED", clients, _HANGS, _HANGS),
        Follows("STRATEGY_UNKNOWN", everything, (StandingCause.OWNERS_UNKNOWN,)),
        Follows("SUBSCRIPTION_MISMATCH", everything, ("REFUSED",)),
    ),
    "CONSUMER_LAGGING": (
        *_BEHIND,
        Follows("OFFSET_HELD_BACK", queues),
        # What comes after the broker is back is too much for another reason.
        Follows("BROKER_NOT_READABLE", queues),
        *starmap(Follows, _SLOW),
        # Of a queue that stood, the lag may still grow when it moves again.
        _STOPPED,
        _STALLED,
        Follows("POP_REDELIVERING", topics),
        # No client says which of them sends messages back, and so has more to do.
        Follows("CONSUME_FAILING", everything, root_causes=("SENT_BACK",)),
    ),
    "OFFSET_REWOUND": (
        Follows("DUPLICATE_CLIENT_ID", clients, ("DUPLICATE_CLIENT_ID",)),
        Follows("CLIENT_HUNG", queues, ("HAND_OVER",)),
        Follows("MEMBERSHIP_VIEW_SPLIT", brokers_that_list_fewer, ("HAND_OVER", "TO_MINIMUM")),
        Follows("FLAPPING_MEMBER", everything, ("HAND_OVER",)),
        Follows("ROLLOUT", everything, ("HAND_OVER",)),
    ),
    "RETENTION_RISK": (
        Follows("GROUP_OFFLINE", everything),
        Follows("UNASSIGNED_QUEUE", queues),
        Follows("GHOST_MEMBER", queues),
        Follows("CLIENT_HUNG", queues),
        _STOPPED,
        _STALLED,
        Follows("CONSUMER_LAGGING", queues),
    ),
}
