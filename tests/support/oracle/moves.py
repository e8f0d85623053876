"""Why a group rebalanced, and what that moved: two allocations compared, the later one with the one before."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.domain.model.statuses import Status
from tests.support.oracle.snapshots import ClientSnapshot, StepWindow
from tests.support.oracle.timeline import IntervalMember, RebalanceInterval
from tests.support.oracle.views import AGREED

#: A broker drops a connection 120 s after its last heartbeat, which it looks for every 10 s; heartbeats come every
#: 30 s. So one that stopped answering goes 90 to 130 s later, and 20 s more are allowed.
EXPIRES_AFTER, EXPIRED_BY = 90_000_000, 150_000_000
#: In the order in which one of several stands for a rebalance.
TRIGGERS = (
    *("BROKER_GONE", "BROKER_BACK", "QUEUES_REMOVED", "QUEUES_ADDED"),
    *("MEMBER_RESTARTED", "MEMBER_EXPIRED", "MEMBER_LEFT", "MEMBER_JOINED"),
    *("STRATEGY_CHANGED", "SUBSCRIPTION_CHANGED"),
)
Place = tuple[str, int]


class Situation(NamedTuple):
    """Members and queues of a topic, and how they are allocated.

    `queues`: readable queues per broker, `0 … n−1`; `owners`: the client ids that own each of them; none, where it is
    not replayed.
    """

    members: tuple[IntervalMember, ...]
    queues: Mapping[str, int]
    owners: Mapping[Place, frozenset[str]]


class Moves(NamedTuple):
    """Of the queues present before and after: how many changed their owners, kept them, had to change them."""

    moved: int
    preserved: int
    least: int


def compared_with(intervals: Sequence[RebalanceInterval], interval: RebalanceInterval) -> RebalanceInterval | None:
    """The last replayed interval before it on the same time line, that of all hosts or its own list's; for one that is
    not replayed, the last with members that are known.
    """
    earlier = [other for other in intervals if other.start < interval.start and other.view in (AGREED, interval.view)]
    if interval.status == Status.REPLAYED:
        earlier = [other for other in earlier if other.status == Status.REPLAYED]
    return max((other for other in earlier if other.listed), key=lambda other: other.start, default=None)


def brokers_before(intervals: Sequence[RebalanceInterval], interval: RebalanceInterval) -> set[str]:
    """The brokers of all intervals before, so that one coming back is told from a new one."""
    earlier = (other for other in intervals if other.start < interval.start)
    return {queue.broker_name for other in earlier for queue, unreadable in other.queues if not unreadable}


def triggers(
    before: Situation, after: Situation, seen_brokers: Collection[str], expired: Collection[str]
) -> list[tuple[str, str]]:
    """Every trigger with who or what it is about; empty: no input differs. `expired`: see `expired_at`."""
    subjects = _queue_changes(before.queues, after.queues, seen_brokers) | _member_changes(before, after, expired)
    return [(trigger, ", ".join(sorted(subjects[trigger]))) for trigger in TRIGGERS if subjects[trigger]]


def _queue_changes(before: Mapping[str, int], after: Mapping[str, int], seen: Collection[str]) -> dict[str, set[str]]:
    come = {broker for broker in after if broker not in before}
    grown = {broker for broker in after if after[broker] > before.get(broker, 0)} - (come & set(seen))
    shrunk = {broker for broker in after if after[broker] < before.get(broker, 0)}
    return {
        "BROKER_GONE": {broker for broker in before if broker not in after},
        "BROKER_BACK": come & set(seen),
        "QUEUES_REMOVED": {_range(broker, after[broker], before[broker]) for broker in shrunk},
        "QUEUES_ADDED": {_range(broker, before.get(broker, 0), after[broker]) for broker in grown},
    }


def _range(broker: str, first: int, end: int) -> str:
    return f"{broker}:{first}" if end == first + 1 else f"{broker}:{first}-{end - 1}"


def passages(before: Situation, after: Situation) -> tuple[list[str], list[str]]:
    """Client ids of which there are fewer connections than before, and of which there are more."""
    was, now = (Counter(member.client_id for member in situation.members) for situation in (before, after))
    return sorted(set(was - now)), sorted(set(now - was))


def _member_changes(before: Situation, after: Situation, expired: Collection[str]) -> dict[str, set[str]]:
    left, joined = map(set, passages(before, after))
    swapped = {_host(client_id) for client_id in left} & {_host(client_id) for client_id in joined} - {None}
    restarted = {client_id for client_id in left | joined if _host(client_id) in swapped}
    known = {member.client_id: member for member in before.members}
    stayed = [(member, known[member.client_id]) for member in after.members if member.client_id in known]
    return {
        "MEMBER_RESTARTED": restarted,
        "MEMBER_EXPIRED": (left - restarted) & set(expired),
        "MEMBER_LEFT": left - restarted - set(expired),
        "MEMBER_JOINED": joined - restarted,
        "STRATEGY_CHANGED": {
            now.client_id for now, was in stayed if (now.strategy, now.variant) != (was.strategy, was.variant)
        },
        "SUBSCRIPTION_CHANGED": {now.client_id for now, was in stayed if now.subscribes != was.subscribes},
    }


def _host(client_id: str) -> str | None:
    """The address a client gives itself, `ip@instanceName`; None: its id does not have that form."""
    name, at, _ = client_id.partition("@")
    return name if at else None


def expired_at(clients: Iterable[ClientSnapshot], window: StepWindow, left_at: int) -> set[str]:
    """The clients that had not answered, in the window, for as long as an expired connection, if they are gone then."""
    inside = [snapshot for snapshot in clients if window.read_from <= snapshot.captured_at < window.end]
    return {
        client_id
        for client_id in {snapshot.client_id for snapshot in inside}
        for last, first, following in _unanswered([snapshot for snapshot in inside if snapshot.client_id == client_id])
        if has_expired(left_at, last, first, following, window.cadence)
    }


def _unanswered(of_client: list[ClientSnapshot]) -> Iterator[tuple[int, int, int | None]]:
    """Last answer, when it was first asked in vain after it, and the next answer."""
    answers = sorted(snapshot.captured_at for snapshot in of_client if snapshot.answered)
    for last, following in zip(answers, [*answers[1:], None], strict=False):
        in_vain = [
            snapshot.captured_at for snapshot in of_client if not snapshot.answered and last < snapshot.captured_at
        ]
        between = [at for at in in_vain if following is None or at < following]
        if between:
            yield last, min(between), following


def has_expired(left_at: int, last: int, first: int, following: int | None, cadence: int) -> bool:
    """`last`: its last answer, `first`: when it was first asked in vain after it, `following`: its next answer."""
    never_since = first < left_at and (following is None or following >= left_at)
    return never_since and EXPIRES_AFTER <= left_at - last <= EXPIRED_BY + cadence


def moves(before: Situation, after: Situation) -> Moves:
    """What the change moved, and the least that any allocation with the same shares would have had to move.

    Every owner (a set of ids, or nobody) keeps at most what it had, and at most its share (`test_moves` tries all).
    """
    both = before.owners.keys() & after.owners.keys()
    moved = sum(before.owners[queue] != after.owners[queue] for queue in both)
    kept_at_most = Counter(before.owners[queue] for queue in both) & Counter(after.owners.values())
    return Moves(moved, len(both) - moved, len(both) - kept_at_most.total())


def handed_over(before: Situation, after: Situation) -> set[Place]:
    """The queues of somebody that are now somebody else's, or nobody's."""
    both = before.owners.keys() & after.owners.keys()
    return {queue for queue in both if before.owners[queue] and before.owners[queue] != after.owners[queue]}


class Begun(NamedTuple):
    """A start of a topic, and what changed with it."""

    start: int
    topic: str
    changed: frozenset[tuple[str, str]]


def rebalance_moments(begun: Iterable[Begun], cadence: int, max_gap: int) -> dict[Begun, int]:
    """When the rebalance began that each start belongs to: one less than half a cadence after another that is told for
    the first time is the same, and one that tells what other topics told in the gap before.

    Per topic and moment of others, the first start that could tell it does.
    """
    moments: dict[Begun, int] = {}
    told_at: dict[int, set[tuple[str, str]]] = {}
    told_by: set[tuple[int, str]] = set()
    newest: Begun | None = None
    for beginning in sorted(begun, key=lambda each: each.start):
        recent = [at for at in told_at if beginning.start - at < max_gap and (at, beginning.topic) not in told_by]
        of_others = [at for at in recent if told_at[at] & beginning.changed]
        if not all(any(each in told_at[at] for at in of_others) for each in beginning.changed):
            is_same = newest is not None and beginning.start - newest.start < cadence / 2
            moments[beginning] = moments[newest] if is_same and newest is not None else beginning.start
            told_at[moments[beginning]] = told_at.get(moments[beginning], set()) | beginning.changed
            newest, of_others = beginning, [moments[beginning]]
        moments[beginning] = max(of_others)
        told_by |= {(at, beginning.topic) for at in of_others}
    return moments
