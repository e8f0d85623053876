"""Would more consumers have helped? The answer names what limited a group while its backlog grew."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.diagnosis.facts import Owner
from spark_jobs.domain.diagnosis.table import LINES
from spark_jobs.domain.phrases import count, names_text


class Limit(StrEnum):
    """The bottleneck of a group, in the order of the table: the first line that fits a queue's facts is its limit."""

    BROADCASTS = "BROADCASTS"
    UNKNOWN_BACKLOG = "UNKNOWN_BACKLOG"
    UNKNOWN_MEMBERS = "UNKNOWN_MEMBERS"
    UNKNOWN_OWNERS = "UNKNOWN_OWNERS"
    NO_BACKLOG = "NO_BACKLOG"
    WORKED_OFF = "WORKED_OFF"
    NO_MEMBERS = "NO_MEMBERS"
    NO_HEARTBEATS = "NO_HEARTBEATS"
    DUPLICATE_IDS = "DUPLICATE_IDS"
    SUBSCRIPTIONS = "SUBSCRIPTIONS"
    ALLOCATION = "ALLOCATION"
    UNREACHABLE_BROKER = "UNREACHABLE_BROKER"
    VIEWS_DISAGREE = "VIEWS_DISAGREE"
    UNREADABLE_QUEUES = "UNREADABLE_QUEUES"
    HELD_BACK = "HELD_BACK"
    ALLOCATION_DRIFT = "ALLOCATION_DRIFT"
    NO_MASTER = "NO_MASTER"
    EXPIRED = "EXPIRED"
    SUSPENDED = "SUSPENDED"
    RETRIED_IN_PLACE = "RETRIED_IN_PLACE"
    NOT_COMMITTED = "NOT_COMMITTED"
    COMMITS_SELDOM = "COMMITS_SELDOM"
    STUCK_CONSUMER = "STUCK_CONSUMER"
    FILTERED = "FILTERED"
    PRODUCER_SKEW = "PRODUCER_SKEW"
    ORDERLY_LOCKS = "ORDERLY_LOCKS"
    FAILURES = "FAILURES"
    TIMED_OUT = "TIMED_OUT"
    DELIVERED_AGAIN = "DELIVERED_AGAIN"
    REDELIVERIES = "REDELIVERIES"
    RECONNECTS = "RECONNECTS"
    REWOUND = "REWOUND"
    NO_PROGRESS = "NO_PROGRESS"
    UNANSWERED = "UNANSWERED"
    PULLS = "PULLS"
    LARGE_MESSAGES = "LARGE_MESSAGES"
    ORDERED_QUEUES = "ORDERED_QUEUES"
    DEPENDENCY = "DEPENDENCY"
    LISTENER = "LISTENER"
    LISTENER_AND_QUEUES = "LISTENER_AND_QUEUES"
    POP_MEMBERS = "POP_MEMBERS"
    IMBALANCE = "IMBALANCE"
    QUEUES = "QUEUES"
    UNEXPLAINED = "UNEXPLAINED"


@dataclass(frozen=True)
class GrowthFacts:
    """The facts of a queue that falls behind, in one interval.

    `named`: the first limit that a finding about the queue or its owner stands for, else what its own samples show (a
    backlog that only fell, an offset that went back, or why it stood). `owner` None: no member owns it. `room`: one
    more member would own a queue. `popped`: members pop.
    """

    named: Limit | None = None
    owner: Owner | None = "CLIENT"
    room: bool = True
    popped: bool = False
    scales: bool = True


class HeldBack(NamedTuple):
    """Messages that one limit held back in a step, at the moment at which they were most, in so many `queues`.

    `waited`: message-milliseconds over all time. `readable` queues of the topic in which most waited, and `members`.
    `slow_members`: those that findings of the limit name, with their consume `threads`, None: unknown. `left`:
    messages that waited at the end. All numbers are 0 for queues of an unknown backlog.
    """

    limit: Limit
    queues: int
    messages: int
    waited: int
    readable: int
    members: int
    slow_members: int = 0
    threads: int | None = None
    left: int = 0


@dataclass(frozen=True)
class GroupInStep:
    """A group over a step.

    `members`: connections at its end, None: it was never replayed; `queues`: readable queues of the topic with most,
    except retry topics, at the end. `backlog_is_known`: of any queue, if any is of another topic.
    `unknown_queues`: those that count, of which it is not; `unknown_at_first`: those of which it was not at their first
    sample only. `wrong`: the rules of what was found above INFO, the worst first. `broadcasts`: it did so after
    the last measured interval. `began_at_end`: what it skipped is of queues that had no offset.
    """

    members: int | None
    queues: int
    backlog_is_known: bool
    unknown_queues: int = 0
    held_back: Sequence[HeldBack] = ()
    unknown_at_first: int = 0
    wrong: Sequence[str] = ()
    broadcasts: bool = False
    began_at_end: bool = False


def _of(rule: str, *causes: str) -> tuple[str, ...]:
    return tuple(f"{rule}/{cause}" for cause in causes)


_SLOW_LISTENER = ("SLOW_LISTENER", "FLOW_CONTROLLED", "NEAR_CAPACITY/LISTENER", "CONSUMER_LAGGING/PULLS_BY_HAND")
#: Which findings stand for which limit: those of a rule, or of one cause of it (`rule/cause`).
SIGNS: dict[Limit, tuple[str, ...]] = {
    Limit.NO_MEMBERS: ("UNASSIGNED_QUEUE/GROUP_OFFLINE",),
    Limit.DUPLICATE_IDS: ("DUPLICATE_CLIENT_ID",),
    Limit.SUBSCRIPTIONS: (
        "SUBSCRIPTION_MISMATCH/DIFFERENT_TOPICS",
        "UNASSIGNED_QUEUE/MEMBER_NOT_SUBSCRIBED",
        "CONSUMER_STALLED/REFUSED",
    ),
    Limit.ALLOCATION: (
        "MIXED_STRATEGIES",
        *_of("UNASSIGNED_QUEUE", "MIXED_STRATEGIES", "MIXED_CLIENTS", "MEMBER_BROADCASTS", "CONFIG_HOLE"),
        *_of("UNASSIGNED_QUEUE", "MACHINE_ROOM_BUG", "ROOM_FILTER", "NO_VIRTUAL_NODES", "NOT_LISTED"),
    ),
    Limit.UNREACHABLE_BROKER: ("BROKER_NOT_READABLE/NOT_REACHED",),
    Limit.VIEWS_DISAGREE: ("MEMBERSHIP_VIEW_SPLIT",),
    Limit.UNREADABLE_QUEUES: (
        "UNASSIGNED_QUEUE/BROKER_NOT_READABLE",
        "STRANDED_WRITE_QUEUES",
        *_of("BROKER_NOT_READABLE", "LEFT_ROUTE", "STORE_LOST", "NO_READ_PERMISSION", "BROKER_PERMISSION"),
        "BROKER_NOT_READABLE/QUEUES_REMOVED",
    ),
    Limit.ALLOCATION_DRIFT: ("ALLOCATION_DRIFT/HOLDS_LESS", "ALLOCATION_DRIFT/NAME_SERVERS_DIFFER"),
    Limit.NO_MASTER: ("ORDERLY_LOCK_MISSING/NO_MASTER",),
    Limit.STUCK_CONSUMER: ("GHOST_MEMBER", "CLIENT_HUNG"),
    Limit.HELD_BACK: ("OFFSET_HELD_BACK", "FLOW_CONTROLLED/CACHED_SPAN"),
    Limit.PRODUCER_SKEW: ("PRODUCER_SKEW/HOT_QUEUES", "NEAR_CAPACITY/HOT_QUEUE"),
    Limit.ORDERLY_LOCKS: ("ORDERLY_LOCK_MISSING", *_of("UNASSIGNED_QUEUE", "WAITS_FOR_LOCK", "LOCK_NOT_RELEASED")),
    Limit.FAILURES: ("CONSUME_FAILING/SENT_BACK", "CONSUME_FAILING/LISTENER_FAILS"),
    Limit.TIMED_OUT: ("CONSUME_FAILING/TIMED_OUT",),
    Limit.DELIVERED_AGAIN: _of("CONSUME_FAILING", "DELIVERED_AGAIN", "PULLED_AGAIN"),
    Limit.REDELIVERIES: ("POP_REDELIVERING",),
    Limit.PULLS: ("CONSUMER_LAGGING/PULLS", "NEAR_CAPACITY/PULLS"),
    Limit.UNANSWERED: ("CONSUMER_LAGGING/UNANSWERED",),
    Limit.FILTERED: ("CONSUMER_LAGGING/FILTERED_SLOWLY",),
    Limit.RECONNECTS: ("FLAPPING_MEMBER/RECONNECTS",),
    Limit.LARGE_MESSAGES: ("FLOW_CONTROLLED/CACHED_SIZE",),
    Limit.ORDERED_QUEUES: ("NEAR_CAPACITY/ORDERED_QUEUE",),
    Limit.IMBALANCE: _of("LOAD_IMBALANCE", "HASH_RING", "ROOMS", "CONFIGURED", "REMAINDERS"),
    Limit.LISTENER: _SLOW_LISTENER,
    Limit.LISTENER_AND_QUEUES: _SLOW_LISTENER,
}
for _line in LINES:
    _limit = Limit(_line.bottleneck)
    if _limit is not Limit.HELD_BACK:  # whose rules have names of their own for it
        SIGNS[_limit] = (*SIGNS.get(_limit, ()), *(f"{_rule}/{_line.cause}" for _rule in _line.rules))
#: What findings may say without knowing the owners of queues, and what they may not if no broker lists the members.
_BY_SHARES = (None, Limit.LISTENER)
_BY_MEMBERS = (*_BY_SHARES, Limit.STUCK_CONSUMER, Limit.UNKNOWN_OWNERS)
#: When a limit fits if no finding stands for it, or only one for LISTENER. The last line fits everything.
_FITS: dict[Limit, Callable[[GrowthFacts], bool]] = {
    Limit.UNKNOWN_MEMBERS: lambda facts: facts.owner == "UNSEEN" and facts.named in _BY_MEMBERS,
    Limit.UNKNOWN_OWNERS: lambda facts: (
        facts.named in {"HANDED_OUT": (None,), "NOT_REPLAYED": _BY_SHARES}.get(facts.owner or "CLIENT", ())
    ),
    # A group takes its time to agree.
    Limit.NO_BACKLOG: lambda facts: facts.owner is None and facts.named is None,
    Limit.DEPENDENCY: lambda facts: facts.named is Limit.LISTENER and not facts.scales,
    Limit.LISTENER: lambda facts: facts.named is Limit.LISTENER and facts.room and not facts.popped,
    Limit.LISTENER_AND_QUEUES: lambda facts: facts.named is Limit.LISTENER and not facts.popped,
    Limit.POP_MEMBERS: lambda facts: facts.named is Limit.LISTENER,
    Limit.QUEUES: lambda facts: not facts.room and not facts.popped,
    Limit.UNEXPLAINED: lambda _: True,
}
#: Limits that are none, as far as the backlog of all queues is known.
_NOTHING_GREW = (Limit.NO_BACKLOG, Limit.WORKED_OFF)
_YES = "Yes, at least {more}, up to {readable} in all"
_CAN_HANDLE = "if what the listener calls (a database, for example) can handle it"
#: Behind "Would more consumers have helped?": the answer, what limited the group, and the one thing to do.
ADVICE: dict[Limit, str] = {
    Limit.BROADCASTS: "No: the group broadcasts, so every consumer gets every message.",
    Limit.UNKNOWN_BACKLOG: "Unknown: the backlog of {unknown} is not known.",
    Limit.UNKNOWN_MEMBERS: "Unknown: no broker lists the members, and {peak}.",
    Limit.UNKNOWN_OWNERS: "Unknown: the owners of the queues are not known, and {peak}.",
    Limit.NO_BACKLOG: "No: {members} kept up with {queues}.",
    Limit.WORKED_OFF: "No: the backlog only fell. {members} worked off {worked_off} that were there at the "
    "beginning, and {left} were left at the end.",
    Limit.NO_MEMBERS: "Yes, any consumer: none was connected, and {peak}.",
    Limit.NO_HEARTBEATS: "No: consumers ran, but brokers did not list them, and {peak}. Look at their heartbeats and "
    "the network.",
    Limit.DUPLICATE_IDS: "No: consumers shared a client id, and {peak}. Give every consumer its own.",
    Limit.SUBSCRIPTIONS: "No: members did not subscribe to the same topics, and {peak}. Make all of them subscribe to "
    "the same topics.",
    Limit.ALLOCATION: "No: the strategy or its configuration left queues without an owner, and {peak}. Correct it.",
    Limit.UNREACHABLE_BROKER: "No: members were not connected to the broker of these queues, and {peak}. Make its "
    "address reachable from their hosts, or restart the clients that have not followed it.",
    Limit.VIEWS_DISAGREE: "No: brokers listed different members, so that members shared the queues differently, and "
    "{peak}. Look at the broker that lists fewer.",
    Limit.UNREADABLE_QUEUES: "No: consumers could not read some queues, and {peak}. Make them readable "
    "(readQueueNums, the topic's read permission, or the broker's brokerPermission).",
    Limit.ALLOCATION_DRIFT: "No: members did not take all queues of their share, and {peak}. Restart them, if "
    "they still do not.",
    Limit.STUCK_CONSUMER: "No: a consumer was stuck while it owned queues, and {peak}. If it still is, take a "
    "thread dump of it, and restart it.",
    Limit.EXPIRED: "No: {peak}, and the broker has probably deleted them. Reset the group to the newest offset.",
    Limit.SUSPENDED: "No: a client fetched nothing of its queues, and {peak}. It was suspended by code, or its pulls "
    "were refused: its log says which.",
    Limit.RETRIED_IN_PLACE: "No: a message that fails stayed in its place, and {peak}. Look for the listener's "
    "exception of it.",
    Limit.NOT_COMMITTED: "No: no offsets were committed for longer than usual, and {peak}. Look for failed commits or "
    "checkpoints in the application's log.",
    Limit.COMMITS_SELDOM: "Unknown: offsets are committed seldom, all queues at once, so that the lag between says "
    "nothing.",
    Limit.HELD_BACK: "No: one message that is not finished held back the offset of a queue, and {peak}. Restart its "
    "owner, if it still does.",
    Limit.FILTERED: "Unknown: the group subscribes to some messages only, and {peak}, which may all be other ones.",
    Limit.PRODUCER_SKEW: "No: few of the queues received the messages, and {peak}. Spread the keys over more queues.",
    Limit.NO_MASTER: "No: a broker had no master, consumers got nothing of its queues, and {peak}. Bring the master "
    "back.",
    Limit.ORDERLY_LOCKS: "No: an orderly consumer waited for the broker's lock on its queues, and {peak}.",
    Limit.FAILURES: "No: listeners failed, what they sent back came again, and {peak}. "
    "Look for the listener's failures.",
    Limit.TIMED_OUT: "No: listeners took longer than consumeTimeout, so clients sent messages back and consumed them "
    "again, and {peak}. Raise consumeTimeout above what the listener needs.",
    Limit.DELIVERED_AGAIN: "No: messages were delivered again that no consumer had sent back, and {peak}. They are no "
    "load: look at what delivered them.",
    Limit.REDELIVERIES: "No: popped messages came again because they were not acknowledged in time, and {peak}. First "
    "make the invisible time longer, or give the clients more threads.",
    Limit.RECONNECTS: "No: a member came back with a new connection again and again, queues moved each time, and "
    "{peak}. Look at what closes its connections.",
    Limit.REWOUND: "No: consumer offsets went back, and {peak}. They are no load: the group had consumed them before.",
    Limit.NO_PROGRESS: "No: for a time no message of some queues was consumed, and {peak}. Find out what their owners "
    "waited for.",
    Limit.UNANSWERED: "No: the broker left pulls without an answer, while threads were idle, and {peak}. Look at the "
    "broker, and the network to it.",
    Limit.PULLS: "No: pulls brought less than came, while threads were idle, and {peak}. Raise a small "
    "pullBatchSize, add queues, lower pullInterval, or let clients read from a slave.",
    Limit.LARGE_MESSAGES: "No: large messages filled a client's cache while its threads were idle, and {peak}. Raise "
    "pullThresholdSizeForQueue.",
    Limit.ORDERED_QUEUES: "Only after queues are added: an orderly consumer has one thread for each queue, {members} "
    "shared {queues}, and {peak}. Or make the listener faster.",
    Limit.IMBALANCE: "Unknown: the members with more than an even share of the queues fell behind, and only they did, "
    "and {peak}. First make the shares even.",
    Limit.DEPENDENCY: "No: more members consumed no more than fewer, so what the listener calls (a database, for "
    "example) is the limit, and {peak}. Make that faster, or call it less.",
    Limit.LISTENER: f"{_YES}, {_CAN_HANDLE}: the listener was the limit, {{members}} shared {{queues}}, and "
    "{peak}.{threads}",
    Limit.LISTENER_AND_QUEUES: "No: the listener was the limit, {members} shared {queues}, and {peak}. Make it "
    "faster, or give the clients more consume threads.{threads}",
    Limit.QUEUES: "Only after queues are added: {members} shared {queues}, and {peak}.",
    Limit.UNEXPLAINED: "Unknown: nothing recorded shows what limited {members} in {queues}, and {peak}. More consumers "
    "help only if all threads of their listeners are busy: record the clients' running info, or look at it.",
    Limit.POP_MEMBERS: f"Yes, any number more, {_CAN_HANDLE}: {{members}} popped from {{queues}}, and "
    "{peak}.{threads}",
}
#: By rule, the answer for a group whose backlog did not grow.
_DID_NOT_KEEP_UP = {
    "MESSAGES_SKIPPED": "No: the backlog went with a jump of the consumer offsets.",
    "CONSUMER_STOPPED": "No: for a time no message of some queues was consumed.",
    "CONSUMER_STALLED": "No: few messages waited, in queues of which none was consumed.",
    "OFFSET_REWOUND": "No: consumer offsets went back, and the group worked off what it had to consume again.",
    "MEMBERSHIP_VIEW_SPLIT": "No: brokers listed different members, and the group worked off what waited meanwhile.",
}
_NOTHING_WAITED = "No: no consumer was connected, but no messages waited in {queues}."
_SOMEBODY_KEPT_UP = "No: the members kept up, though the owners of the queues are not known."


def limit_of(facts: GrowthFacts) -> Limit:
    """The first limit that fits these facts. Busy threads alone do not decide it: the shares do, too."""
    named = None if facts.named is Limit.LISTENER else facts.named
    return next(limit for limit in Limit if named is limit or (limit in _FITS and _FITS[limit](facts)))


def limit(group: GroupInStep) -> Limit:
    """The bottleneck of the group: the limit under which messages waited longest, all of them added up."""
    if group.broadcasts:
        return Limit.BROADCASTS
    longest = worst(group.held_back).limit if group.held_back else Limit.NO_BACKLOG
    is_known = not group.unknown_queues and (group.backlog_is_known or group.held_back)
    return Limit.UNKNOWN_BACKLOG if longest in _NOTHING_GREW and not is_known else longest


def more_members_help(limit: Limit) -> bool | None:
    """True if more members would have helped, as the advice says; None: unknown."""
    return None if ADVICE[limit].startswith("Unknown") else ADVICE[limit].startswith("Yes")


def busiest_member_queues(queues: int, members: int | None, more: int = 0) -> int | None:
    """Queues of the member with the most, shared evenly, with so many `more`; None without members."""
    return None if members is None or not members + more else -(-queues // (members + more))


def advice(group: GroupInStep) -> str:
    """The answer in words, and how many queues have an unknown backlog, or else had one at first."""
    group_limit = limit(group)
    if group_limit is Limit.BROADCASTS:
        return ADVICE[group_limit]
    if group_limit is Limit.UNKNOWN_BACKLOG:
        unknown = count(group.unknown_queues, "queue") if group.unknown_queues else "the group"
        return ADVICE[group_limit].format(unknown=unknown)
    # Only a jump also makes a backlog fall.
    jumped = () if group.began_at_end else ("MESSAGES_SKIPPED",)
    rules = {Limit.NO_BACKLOG: (*_DID_NOT_KEEP_UP,), Limit.WORKED_OFF: jumped}.get(group_limit, ())
    answer = next((_DID_NOT_KEEP_UP[rule] for rule in rules if rule in group.wrong), None) or (
        _kept_up(group) if group_limit is Limit.NO_BACKLOG else _held_back(group, worst(group.held_back))
    )
    other = group_limit in _NOTHING_GREW and group.wrong
    wrong = f"What was wrong is of another kind: {names_text(group.wrong, 3)}." if other else None
    return " ".join(filter(None, (answer, wrong, _unknown(group))))


def _kept_up(group: GroupInStep) -> str:
    kept_up = _SOMEBODY_KEPT_UP if group.members is None else _NOTHING_WAITED
    answer = ADVICE[Limit.NO_BACKLOG] if group.members else kept_up
    queues = count(group.queues, "queue") if group.queues else "all queues"
    return answer.format(members=count(group.members or 0, "member"), queues=queues)


def _held_back(group: GroupInStep, held_back: HeldBack) -> str:
    if not held_back.queues:
        # Nothing was measured, so no time tells more than the end.
        held_back = held_back._replace(readable=group.queues, members=group.members or 0)
    return ADVICE[held_back.limit].format(
        members=count(held_back.members, "member") if held_back.members else "Its members",
        queues=count(held_back.readable, "queue"),
        readable=f"{held_back.readable:,}",
        peak=_peak(held_back, at_least=bool(group.unknown_queues)),
        more=count(more_members(held_back), "more consumer"),
        threads=_threads(held_back),
        worked_off=count(held_back.messages - held_back.left, "message"),
        left=f"{held_back.left:,}",
    )


def _unknown(group: GroupInStep) -> str | None:
    if group.unknown_queues:
        return f"The backlog of {count(group.unknown_queues, 'queue')} is unknown."
    if group.unknown_at_first:
        at_first = count(group.unknown_at_first, "queue")
        return f"The backlog of {at_first} was unknown at first: the group had not committed an offset there."
    return None


def worst(limits: Sequence[HeldBack]) -> HeldBack:
    """The limit under which messages waited longest; of equals the first. A backlog that only fell comes last."""
    return max(limits, key=lambda limit: (limit.limit is not Limit.WORKED_OFF, limit.waited))


def more_members(held_back: HeldBack) -> int:
    """How many more members it takes to leave the busiest one a queue less; 1 at least."""
    share = busiest_member_queues(held_back.readable, held_back.members) or 0
    return max(-(-held_back.readable // (share - 1)) - held_back.members, 1) if share > 1 else 1


def _peak(held_back: HeldBack, *, at_least: bool) -> str:
    if not held_back.queues:
        return "messages may wait in queues that were not consumed"
    messages = f"{'at least ' if at_least else ''}{count(held_back.messages, 'message')}"
    return f"the backlog reached {messages} in {count(held_back.queues, 'queue')}"


def _threads(held_back: HeldBack) -> str:
    """Sentences on the members that findings name: how many, and their threads."""
    slow, owners = held_back.slow_members, held_back.members
    if held_back.limit is not Limit.POP_MEMBERS:
        owners = min(owners, held_back.readable)  # a member without a queue has nothing to do
    first = f" Only {slow:,} of {count(owners, 'member')} {'was' if slow == 1 else 'were'} slow: look there first."
    named = "The slow member has" if slow == 1 else f"The {slow:,} slow members together have"
    threads = held_back.threads
    return (first if 0 < slow < owners else "") + (
        f" {named} {count(threads, 'consume thread')}." if slow and threads is not None else ""
    )
