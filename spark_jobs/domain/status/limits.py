"""What held a group's queues back in a step: every queue in which messages piled up goes to one limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.model.finding import Finding, Persistence
from spark_jobs.domain.model.history import ClientHistory
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN
from spark_jobs.domain.model.window import StepWindow
from spark_jobs.domain.rocketmq.strategies import is_popped
from spark_jobs.domain.status.backlog import QueueIntervals
from spark_jobs.domain.status.capacity import SIGNS, HeldBack, Limit, sign, with_shares
from spark_jobs.domain.status.lagging_queues import Growth, LaggingQueue, highest_together, lagging_queues

_ORDER: dict[Limit | None, int] = {limit: number for number, limit in enumerate(Limit)}


@dataclass(frozen=True)
class _Sign:
    """A finding that stands for a limit. `queues`, `client_ids`: those it names; of none, it is about all."""

    limit: Limit
    finding: Finding
    queues: frozenset[MessageQueue]
    client_ids: frozenset[str]

    def is_about(self, queue: MessageQueue, owners: Iterable[str], start: int, end: int) -> bool:
        """Whether it is about the queue or one of its owners, at a time in `[start, end]`."""
        if self.finding.start > end or self.finding.end <= start or self.finding.topic not in (None, queue.topic):
            return False
        if self.queues:
            return queue in self.queues
        return not self.client_ids or not self.client_ids.isdisjoint(owners)


@dataclass
class _SoFar:
    queues: list[LaggingQueue] = field(default_factory=list)
    waited: int = 0
    #: Growth of the interval that tells most, with the readable queues and the members of its time.
    most: tuple[int, int, int] = (-1, 0, 0)
    client_ids: set[str] = field(default_factory=set)


def held_back(
    step: AuditedStep, queues: QueueIntervals, unknown: Sequence[MessageQueue], findings: Iterable[Finding]
) -> list[HeldBack]:
    """One per limit, in their order; `unknown` queues have no known backlog.

    A queue goes to the limit under which its backlog grew most, with all the time that messages waited in it. Queues
    with an unknown backlog that nobody consumed count, with no messages, where messages are not ruled out.
    """
    signs = sorted(_signs(findings), key=lambda one: _ORDER[one.limit])
    found: dict[Limit, _SoFar] = {}
    for queue in lagging_queues(queues, step.history.offsets, step.window, step.settings):
        _add(found, signs, queue)
    for one in signs:
        if one.finding.rule in _NOBODY_CONSUMES and not one.queues.isdisjoint(unknown):
            found.setdefault(one.limit, _SoFar())
    return [
        HeldBack(
            limit=limit,
            messages=messages,
            queues=in_queues,
            waited=so_far.waited,
            readable=so_far.most[1],
            members=so_far.most[2],
            slow_members=len(so_far.client_ids),
            threads=_threads(step, so_far.client_ids),
        )
        for limit, so_far in sorted(found.items(), key=lambda each: _ORDER[each[0]])
        for messages, in_queues in [highest_together(so_far.queues) if so_far.queues else (0, 0)]
    ]


#: Limits that depend on how many queues a member has.
_BY_SHARES = (None, Limit.LISTENER)
#: Rules whose findings name queues that nobody consumes.
_NOBODY_CONSUMES = ("UNASSIGNED_QUEUE", "STRANDED_WRITE_QUEUES")


def _signs(findings: Iterable[Finding]) -> Iterator[_Sign]:
    """What ends by itself, or did no harm, stands for nothing."""
    for found in findings:
        if found.severity != INFO and found.evidence.persistence != Persistence.TRANSIENT:
            said = sign(found.rule, found.cause)
            queues = frozenset(MessageQueue(*evidence[:3]) for evidence in found.evidence.queues)
            for limit, signs in SIGNS.items():
                if said in signs:
                    yield _Sign(limit, found, queues, frozenset(found.evidence.client_ids))


def _add(found: dict[Limit, _SoFar], signs: Sequence[_Sign], queue: LaggingQueue) -> None:
    """To the limit under which the backlog of the queue grew most, of equals the first; to none, if that is none."""
    told = [(growth, *_limit(signs, growth)) for growth in queue.growths]
    grown: dict[Limit | None, int] = {}
    for growth, limit, _ in told:
        grown[limit] = grown.get(limit, 0) + growth.messages
    most = max(grown, key=lambda limit: (grown[limit], -_ORDER.get(limit, len(Limit))))
    if most is None:
        return
    so_far = found.setdefault(most, _SoFar())
    so_far.queues.append(queue)
    so_far.waited += queue.waited
    for growth, limit, client_ids in told:
        if limit == most:
            interval = growth.progress.interval
            at = (growth.messages, _readable(growth.progress), len(interval.members or ()))
            so_far.most = max(so_far.most, at)
            so_far.client_ids |= client_ids


def _limit(signs: Sequence[_Sign], growth: Growth) -> tuple[Limit | None, set[str]]:
    """The limit of one interval, with the owners that its findings name.

    None: the queue had no owner, and no finding says so, or it ended by itself: a group takes its time to agree.
    Where owners are not known, some findings say enough; none does where the broker hands out the messages to all.
    """
    progress, interval = growth.progress, growth.progress.interval
    queue = MessageQueue(interval.topic, *progress.queues[growth.place])
    owners = [client_id for client_id in progress.owner_ids(growth.place) if client_id is not None]
    about = [one for one in signs if one.is_about(queue, owners, growth.start, growth.end)]
    signed = about[0].limit if about else None
    if interval.allocation is None and (signed in _BY_SHARES or interval.is_shared_out):
        return Limit.UNKNOWN_MEMBERS if interval.reason in CONSUMED_UNSEEN else Limit.UNKNOWN_OWNERS, set()
    if not about and not owners:
        return None, set()
    named = {client_id for one in about if one.limit == signed for client_id in one.client_ids}
    popped = any(is_popped(member.strategy) for member in interval.members or ())
    limit = with_shares(signed, len(interval.members or ()), _readable(progress), popped=popped)
    return limit, named & set(owners)


def _readable(progress: IntervalProgress) -> int:
    """Readable queues of the interval's topic."""
    allocation = progress.interval.allocation
    return len(progress.queues) if allocation is None else allocation.readable_count


def _threads(step: AuditedStep, client_ids: Iterable[str]) -> int | None:
    """Consume threads of the clients together, as they last said in the step; None: of one it is not known."""
    threads = [_threads_of(step.history.clients.get(client_id), step.window) for client_id in client_ids]
    known = [one for one in threads if one is not None]
    return sum(known) if known and len(known) == len(threads) else None


def _threads_of(client: ClientHistory | None, window: StepWindow) -> int | None:
    if client is None:
        return None
    series = client.series
    last_first = series.codes[series.inside(window.start, window.end)][::-1].tolist()
    said = (series.states[code].consume_threads for code in last_first)
    return next((threads for threads in said if threads is not None), None)
