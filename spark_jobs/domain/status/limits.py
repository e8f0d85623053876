"""The limits that held a group's queues back in a step: every queue with a backlog belongs to one limit."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from spark_jobs.domain.diagnosis.diagnoses import Diagnosis, by_queue
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.handed_out import may_be_behind_proxies
from spark_jobs.domain.kernel.removed_queues import RemovedQueue, removed_queues
from spark_jobs.domain.model.finding import Finding, Persistence
from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN
from spark_jobs.domain.model.window import MILLISECOND, StepWindow
from spark_jobs.domain.phrases import whole_sum
from spark_jobs.domain.status.backlog import QueueIntervals
from spark_jobs.domain.status.capacity import SIGNS, HeldBack, Limit, with_shares
from spark_jobs.domain.status.lagging_queues import Growth, LaggingQueue, highest_together, lagging_queues

_ORDER: dict[Limit | None, int] = {limit: number for number, limit in enumerate(Limit)}


@dataclass(frozen=True)
class _LimitFinding:
    """A finding that stands for a limit. `queues`, `client_ids`: those it names; if it names none, it is about all."""

    limit: Limit
    finding: Finding
    queues: frozenset[MessageQueue]
    client_ids: frozenset[str]

    def is_about(self, queue: MessageQueue, owners: Iterable[str], start: int, end: int) -> bool:
        """Return whether it is about the queue or one of its owners, at a time in `[start, end)`, or at `start`."""
        if (
            self.finding.started_at >= max(end, start + 1)
            or self.finding.ended_at <= start
            or self.finding.topic not in (None, queue.topic)
        ):
            return False
        if self.queues:
            return queue in self.queues
        return not self.client_ids or not self.client_ids.isdisjoint(owners)


@dataclass
class _Pile:
    """Effect of one limit: queues, message-milliseconds, and the owners that its findings name."""

    queues: list[LaggingQueue] = field(default_factory=list)
    waited: int = 0
    #: Of the interval with the greatest growth: messages of growth, readable queues, members.
    greatest: tuple[int, int, int] = (-1, 0, 0)
    client_ids: set[str] = field(default_factory=set)


def held_back(
    step: AuditedStep, queues: QueueIntervals, unknown: Sequence[MessageQueue], findings: Sequence[Finding]
) -> list[HeldBack]:
    """One per limit, in their order; `unknown` queues have no known backlog.

    A queue goes to the limit under which its backlog grew most, with all the time that messages waited in it; one that
    was removed to UNREADABLE_QUEUES, with its last known backlog, because no consumer can work that off. Queues
    with an unknown backlog that nobody consumed count, with no messages, where messages are not ruled out.
    """
    signs = sorted(_signs(step, findings), key=lambda limiting: _ORDER[limiting.limit])
    piles: dict[Limit, _Pile] = {}
    left = {MessageQueue(each.topic, *each.queue): each for each in removed_queues(step)}
    removed = {queue: each for queue, each in left.items() if any(_is_removed(sign, queue) for sign in signs)}
    if removed:
        piles[Limit.UNREADABLE_QUEUES] = _removed_pile(removed.values(), step.window)
    stood = by_queue(step)
    for queue in lagging_queues(queues, {**step.history.offsets, **step.unread}, step.window, step.settings):
        if MessageQueue(queue.topic, *queue.queue) not in removed:
            _add(piles, signs, queue, stood.get(MessageQueue(queue.topic, *queue.queue), ()))
    for limiting in signs:
        if limiting.finding.rule in _NOBODY_CONSUMES and not limiting.queues.isdisjoint(unknown):
            piles.setdefault(limiting.limit, _Pile())
    return [
        HeldBack(
            limit=limit,
            messages=messages,
            queues=in_queues,
            waited=pile.waited,
            readable=pile.greatest[1],
            members=pile.greatest[2],
            slow_members=len(pile.client_ids),
            threads=_threads(step, pile.client_ids),
            left=sum(int(queue.backlog[-1]) for queue in pile.queues),
        )
        for limit, pile in sorted(piles.items(), key=lambda item: _ORDER[item[0]])
        for messages, in_queues in [highest_together(pile.queues) if pile.queues else (0, 0)]
    ]


#: Limits that depend on how many queues a member has, and those that nobody can tell whose members are unseen.
_BY_SHARES = (None, Limit.LISTENER)
_BY_MEMBERS = (*_BY_SHARES, Limit.STUCK_CONSUMER, Limit.UNKNOWN_OWNERS)
#: Limits whose findings name queues of retry topics, and are about all queues of their topic, or of their clients.
_OF_RETRIES = (Limit.TIMED_OUT, Limit.REDELIVERIES)
#: Limits whose findings are about all queues, also those of other members.
_OF_ALL = (Limit.RECONNECTS,)
#: Limits whose findings are no harm, or may be none.
_ALSO_INFO = (Limit.FILTERED, Limit.COMMITS_SELDOM)
#: Rules whose findings name queues that nobody consumes.
_NOBODY_CONSUMES = ("UNASSIGNED_QUEUE", "STRANDED_WRITE_QUEUES")
#: The finding, as rule/cause, of queues that hold messages and are no longer in the route.
_QUEUES_REMOVED = "BROKER_NOT_READABLE/QUEUES_REMOVED"


def _signs(step: AuditedStep, findings: Sequence[Finding]) -> Iterator[_LimitFinding]:
    """The findings that lasted and stand for a limit. Behind proxies consumers may be online that no broker lists."""
    instead = {Limit.NO_MEMBERS: Limit.UNKNOWN_MEMBERS} if may_be_behind_proxies(step) else {}
    limit_of_root = {finding.finding_id: limit for finding in findings if (limit := _of_consequences(finding))}
    for finding in findings:
        if finding.evidence.persistence != Persistence.TRANSIENT:
            names = {finding.rule, f"{finding.rule}/{finding.cause}"}
            queues = frozenset(MessageQueue(*evidence[:3]) for evidence in finding.evidence.queues)
            for limit, signs in SIGNS.items():
                if not names.isdisjoint(signs) and (finding.severity != INFO or limit in _ALSO_INFO):
                    stands_for = limit_of_root.get(finding.root_finding_id or "", instead.get(limit, limit))
                    of_limit = frozenset() if limit in (*_OF_RETRIES, *_OF_ALL) else queues
                    client_ids = frozenset(() if limit in _OF_ALL else finding.evidence.client_ids)
                    yield _LimitFinding(stands_for, finding, of_limit, client_ids)


def _of_consequences(finding: Finding) -> Limit | None:
    """The limit that the symptoms of a finding stand for; None: each for its own."""
    if finding.rule == "OFFSET_REWOUND":
        return Limit.REWOUND
    if finding.rule == "ORDERLY_LOCK_MISSING":
        return Limit.NO_MASTER if finding.cause == Limit.NO_MASTER else Limit.ORDERLY_LOCKS
    return None


def _is_removed(sign: _LimitFinding, queue: MessageQueue) -> bool:
    return queue in sign.queues and f"{sign.finding.rule}/{sign.finding.cause}" == _QUEUES_REMOVED


def _removed_pile(removed: Iterable[RemovedQueue], window: StepWindow) -> _Pile:
    """Return what waits in removed queues, inside the step."""
    pile = _Pile()
    for queue in removed:
        time = np.array([max(queue.start, window.start), queue.end])
        waited = queue.backlog * int(time[1] - time[0]) // MILLISECOND
        waiting = np.array([queue.backlog, 0])
        pile.queues.append(LaggingQueue(queue.topic, queue.queue, queue.backlog, waited, [], time, waiting))
        pile.waited += waited
    return pile


def _add(
    piles: dict[Limit, _Pile], signs: Sequence[_LimitFinding], queue: LaggingQueue, stood: Sequence[Diagnosis]
) -> None:
    """Adds the queue to the pile of the limit (if any) under which its backlog grew most, of equals the first."""
    limits: list[tuple[Growth, Limit | None, set[str]]] = [
        (growth, Limit.WORKED_OFF, set()) if growth.is_worked_off else (growth, *_limit_of_growth(signs, growth, stood))
        for growth in queue.growths
    ]
    messages: dict[Limit | None, int] = {}
    for growth, limit, _ in limits:
        messages[limit] = messages.get(limit, 0) + growth.messages
    main_limit = max(messages, key=lambda limit: (messages[limit], -_ORDER.get(limit, len(Limit))))
    if main_limit is None:
        return
    pile = piles.setdefault(main_limit, _Pile())
    pile.queues.append(queue)
    pile.waited += queue.waited
    for growth, limit, client_ids in limits:
        if limit == main_limit:
            interval = growth.progress.interval
            grown = (growth.messages, _readable(growth.progress), len(interval.members or ()))
            pile.greatest = max(pile.greatest, grown)
            pile.client_ids |= client_ids


def _limit_of_growth(
    signs: Sequence[_LimitFinding], growth: Growth, stood: Sequence[Diagnosis]
) -> tuple[Limit | None, set[str]]:
    """The limit under which a queue's backlog grew in one interval, and the owners that its findings name.

    None: the queue had no owner, and no finding that lasted says so: a group takes its time to agree. Without a
    finding, the shares are the limit only of a queue that did not stand (`stood`) in most of its growth. Where owners
    are not known, some findings still tell the limit. Where the broker hands out the messages to all (POP), those do
    that are about all members, or about messages that come again.
    """
    progress, interval = growth.progress, growth.progress.interval
    queue, members = MessageQueue(interval.topic, *progress.queues[growth.place]), interval.members or ()
    is_shared_out = interval.is_shared_out
    known_owners = [client_id for client_id in progress.owner_ids(growth.place) if client_id is not None]
    owners = [member.client_id for member in members] if is_shared_out else known_owners
    relevant = [limiting for limiting in signs if limiting.is_about(queue, owners, growth.start, growth.end)]
    if is_shared_out:
        relevant = [limiting for limiting in relevant if _is_about_all(limiting.limit, relevant, owners)]
    limit_of_findings = relevant[0].limit if relevant else None
    is_unseen = interval.reason in CONSUMED_UNSEEN
    if (
        interval.allocation is None
        and not interval.unreadable
        and limit_of_findings in (_BY_MEMBERS if is_unseen else (None,) if is_shared_out else _BY_SHARES)
    ):
        return Limit.UNKNOWN_MEMBERS if is_unseen else Limit.UNKNOWN_OWNERS, set()
    if not relevant and not owners:
        return None, set()
    popped = is_shared_out or interval.has_popping_members
    if not relevant and growth.is_rewound:
        return Limit.REWOUND, set()
    diagnosis = None if relevant or popped else _most_of(growth, stood)
    if diagnosis is not None:
        return Limit(diagnosis.line.bottleneck), set()
    same_limit = (limiting.client_ids for limiting in relevant if limiting.limit == limit_of_findings)
    has_idle = interval.allocation is not None and 0 in interval.allocation.queues_per_member
    more_would_own = len(members) < _readable(progress) and not has_idle
    limit = with_shares(limit_of_findings, more_would_own=more_would_own, popped=popped)
    return limit, set(owners).intersection(set().union(*same_limit))


def _most_of(growth: Growth, stood: Iterable[Diagnosis]) -> Diagnosis | None:
    """Return why the queue stood in half of the growth's time, or while half of its messages came; None: it did not."""
    for each in stood:
        start, end = max(each.standing.start, growth.start), min(each.standing.seen_at, growth.end)
        grown = each.standing.lag_last - each.standing.lag_first
        if start < end and (2 * (end - start) >= growth.end - growth.start or 0 < growth.messages <= 2 * grown):
            return each
    return None


def _is_about_all(limit: Limit, signs: Iterable[_LimitFinding], members: Collection[str]) -> bool:
    """Return whether the findings of a limit are about all members, or about what every member may pop again."""
    named = set().union(*(limiting.client_ids for limiting in signs if limiting.limit is limit))
    return limit is Limit.REDELIVERIES or (len(members) > 0 and set(members) <= named)


def _readable(progress: IntervalProgress) -> int:
    """Readable queues of the interval's topic."""
    allocation = progress.interval.allocation
    return len(progress.queues) if allocation is None else allocation.readable_count


def _threads(step: AuditedStep, client_ids: Iterable[str]) -> int | None:
    """Consume threads of the clients together, as last reported in the step; None: those of one are not known."""
    return whole_sum(_threads_of(step.history.clients.get(client_id), step.window) for client_id in client_ids)


def _threads_of(client: ClientHistory | None, window: StepWindow) -> int | None:
    if client is None:
        return None
    series = client.series
    last_first = series.codes[series.inside(window.start, window.end)][::-1].tolist()
    reported = (series.states[code].consume_threads for code in last_first)
    return next((threads for threads in reported if threads is not None), None)
