"""The limits that held a group's queues back in a step: every queue with a backlog belongs to one limit."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import chain

import numpy as np

from spark_jobs.domain.diagnosis.diagnoses import Diagnosis, by_queue
from spark_jobs.domain.diagnosis.facts import Owner
from spark_jobs.domain.diagnosis.pulls import has_few_in_hand
from spark_jobs.domain.diagnosis.scaling import without_effect
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.client_spans import busy_spans
from spark_jobs.domain.kernel.removed_queues import RemovedQueue, removed_queues
from spark_jobs.domain.kernel.unseen import may_be_behind_proxies
from spark_jobs.domain.model.finding import Finding, Persistence, unconsumed_times
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN
from spark_jobs.domain.model.window import MINUTE, StepWindow, common
from spark_jobs.domain.phrases import whole_sum
from spark_jobs.domain.status.backlog import QueueIntervals
from spark_jobs.domain.status.capacity import SIGNS, GrowthFacts, HeldBack, Limit, limit_of
from spark_jobs.domain.status.lagging_queues import Growth, LaggingQueue, highest_together, lagging_queues, message_ms

#: Findings with the limit that each stands for, by what they are about: a queue, a client id, or None: all.
_Signs = Mapping[MessageQueue | str | None, Sequence[tuple[Limit, Finding]]]
#: A queue with the growths of its limit, and the owners that findings of this limit name.
_Limited = tuple[LaggingQueue, Sequence[Growth], Set[str]]


def held_back(
    step: AuditedStep, queues: QueueIntervals, unknown: Sequence[MessageQueue], findings: Sequence[Finding]
) -> list[HeldBack]:
    """One per limit, in their order; `unknown` queues have no known backlog.

    A queue goes to the limit under which its backlog grew most, or to why it stood afterwards, with all the time that
    messages waited in it; one that was removed to UNREADABLE_QUEUES, with its last known backlog, because no consumer
    can work that off. Queues with an unknown backlog that nobody consumed count, with no messages, where messages are
    not ruled out.
    """
    offsets = {**step.history.offsets, **step.unread}
    lagging = list(lagging_queues(queues, offsets, step.window, step.settings, unconsumed_times(findings)))
    left = {MessageQueue(each.topic, *each.queue): each for each in removed_queues(step)}
    if not lagging and not unknown and not left:  # as mostly
        return []
    signs, stood = _signs(step, findings, lagging), by_queue(step)
    scales = cache(lambda topic: without_effect(step, topic) is None)
    piles: dict[Limit, list[_Limited]] = {}
    by_finding = {about for about, of in signs.items() if any(_QUEUES_REMOVED in _names(sign) for _, sign in of)}
    removed = {queue: each for queue, each in left.items() if queue in by_finding}
    if removed:
        piles[Limit.UNREADABLE_QUEUES] = [(_removed_queue(each, step.window), (), set()) for each in removed.values()]
    for each in lagging:
        if each.queue not in removed:
            of_queue, topic = stood.get(each.queue, ()), each.queue.topic
            limit, limited = _limited(step, signs, each, of_queue, scales=scales(topic))
            piles.setdefault(limit, []).append(limited)
    for limit, finding in chain.from_iterable(signs.get(each, ()) for each in unknown):
        if finding.rule in _NOBODY_CONSUMES:
            piles.setdefault(limit, [])
    piles.pop(Limit.NO_BACKLOG, None)
    return [_held_back(step, limit, piles[limit]) for limit in Limit if limit in piles]


def _held_back(step: AuditedStep, limit: Limit, pile: Sequence[_Limited]) -> HeldBack:
    """The effect of one limit, with the queues and members of the interval in which most came."""
    queues = [queue for queue, _, _ in pile]
    growths = [growth for _, of_limit, _ in pile for growth in of_limit]
    client_ids = frozenset[str]().union(*(ids for _, _, ids in pile))
    messages, in_queues = highest_together(queues)
    sizes = ((each.messages, _readable(each.progress), len(each.progress.interval.client_ids)) for each in growths)
    _, readable, members = max(sizes, default=(0, 0, 0))
    return HeldBack(
        limit=limit,
        messages=messages,
        queues=in_queues,
        waited=sum(queue.waited for queue in queues),
        readable=readable,
        members=members,
        slow_members=len(client_ids),
        threads=_threads(step, client_ids),
        left=sum(int(queue.backlog[-1]) for queue in queues),
    )


#: Limits whose findings name queues of retry topics, and are about all queues of their topic, or of their clients.
_OF_RETRIES = (Limit.TIMED_OUT, Limit.DELIVERED_AGAIN, Limit.REDELIVERIES)
#: Limits whose findings are no harm, or may be none.
_ALSO_INFO = (Limit.FILTERED, Limit.COMMITS_SELDOM, Limit.IMBALANCE)
#: A listener that rejects some is slowed down by its other work.
_SEVERITIES = {"CONSUME_FAILING/LISTENER_FAILS": (ERROR,)}
#: Limits of the symptoms of a finding, by its rule or cause; those of other findings stand for their own.
_OF_SYMPTOMS = {
    "GROUP_OFFLINE/NO_HEARTBEATS": Limit.NO_HEARTBEATS,
    "OFFSET_REWOUND": Limit.REWOUND,
    "SLOW_LISTENER/ALL_THREADS_BUSY": Limit.LISTENER,
    **dict.fromkeys(("CONSUMER_STOPPED/LISTENER_HANGS", "CONSUMER_STALLED/LISTENER_HANGS"), Limit.STUCK_CONSUMER),
    "ORDERLY_LOCK_MISSING/NOT_LOCKED": Limit.ORDERLY_LOCKS,
    "ORDERLY_LOCK_MISSING/NO_MASTER": Limit.NO_MASTER,
    # More members make smaller shares out of remainders.
    **dict.fromkeys(("LOAD_IMBALANCE/HASH_RING", "LOAD_IMBALANCE/ROOMS", "LOAD_IMBALANCE/CONFIGURED"), Limit.IMBALANCE),
}
#: Rules whose findings name queues that nobody consumes.
_NOBODY_CONSUMES = ("UNASSIGNED_QUEUE", "STRANDED_WRITE_QUEUES")
#: The finding, as rule/cause, of queues that hold messages and are no longer in the route.
_QUEUES_REMOVED = "BROKER_NOT_READABLE/QUEUES_REMOVED"


def _signs(step: AuditedStep, findings: Sequence[Finding], lagging: Sequence[LaggingQueue]) -> _Signs:
    """The findings that lasted and stand for a limit. Behind proxies consumers may be online that no broker lists."""
    instead = {Limit.NO_MEMBERS: Limit.UNKNOWN_MEMBERS} if may_be_behind_proxies(step) else {}
    limit_of_root = {
        finding.finding_id: _OF_SYMPTOMS[name] for finding in findings for name in _names(finding) & _OF_SYMPTOMS.keys()
    }
    signs: dict[MessageQueue | str | None, list[tuple[Limit, Finding]]] = {}
    for finding in (each for each in findings if each.evidence.persistence != Persistence.TRANSIENT):
        for limit in (limit for limit, names in SIGNS.items() if not _names(finding).isdisjoint(names)):
            severities = _SEVERITIES.get(f"{finding.rule}/{finding.cause}", (WARN, ERROR))
            if finding.severity in severities or limit in _ALSO_INFO:
                stands_for = limit_of_root.get(finding.root_finding_id or "", instead.get(limit, limit))
                for about in _about(step, limit, finding, lagging):
                    signs.setdefault(about, []).append((stands_for, finding))
    return signs


def _names(finding: Finding) -> Set[str]:
    return {finding.rule, f"{finding.rule}/{finding.cause}"}


def _about(
    step: AuditedStep, limit: Limit, finding: Finding, lagging: Sequence[LaggingQueue]
) -> Collection[MessageQueue | str | None]:
    """The queues that a finding is about as a sign of this limit, else the clients, else None: all; empty: no sign."""
    if limit is Limit.RECONNECTS:  # moves the queues of other members, too
        return (None,)
    if limit is Limit.IMBALANCE:
        return _behind_by_shares(step, finding, lagging)
    if limit is Limit.LARGE_MESSAGES and (finding.root_finding_id or not has_few_in_hand(step, finding)):
        return ()
    queues = () if limit in _OF_RETRIES else {MessageQueue(*evidence[:3]) for evidence in finding.evidence.queues}
    return queues or finding.evidence.client_ids or (None,)


def _behind_by_shares(step: AuditedStep, finding: Finding, lagging: Iterable[LaggingQueue]) -> Set[str]:
    """The members with more than an even share, if all of them and no others fell behind meanwhile; else none."""
    of_time = [
        growth
        for growth in chain.from_iterable(queue.growths for queue in lagging)
        if growth.progress.interval.is_ordinary and not growth.is_worked_off and _is_then(finding, growth)
    ]
    lagged = {client_id for growth in of_time for client_id in growth.progress.owner_ids(growth.place)}
    at = max(finding.started_at, min((growth.start for growth in of_time), default=0))
    shares = Counter[str]()
    for interval in (row.interval for row in step.progress if row.interval.start <= at < row.interval.end):
        if interval.allocation and interval.is_ordinary and finding.topic in (None, interval.topic):
            shares.update({member.client_id: 0 for member in interval.members or ()})
            shares.update(chain.from_iterable(interval.allocation.owner_ids))
    above = {client_id for client_id, queues in shares.items() if queues * len(shares) > shares.total()}
    return above if above == lagged else set()


def _removed_queue(queue: RemovedQueue, window: StepWindow) -> LaggingQueue:
    """The backlog of a removed queue, inside the step."""
    times, backlog = np.array([max(queue.start, window.start), queue.end]), np.array([queue.backlog, 0])
    name, waited = MessageQueue(queue.topic, *queue.queue), message_ms(times, backlog)
    return LaggingQueue(name, queue.backlog, waited, [], times, backlog)


def _limited(
    step: AuditedStep, signs: _Signs, queue: LaggingQueue, stood: Sequence[Diagnosis], *, scales: bool
) -> tuple[Limit, _Limited]:
    """The limit under which the queue's backlog grew most, of equals the first that is one; but why it stood, if that
    was afterwards, and for most of the time that messages waited.
    """
    end = max(growth.end for growth in queue.growths)
    for each in stood:
        waited = message_ms(queue.times.clip(each.standing.start, each.standing.end), queue.backlog)
        if each.standing.start >= end and 2 * waited > queue.waited:
            return Limit(each.line.bottleneck), (queue, queue.growths, set())
    growths = [(growth, *_limit_of_growth(step, signs, growth, stood, scales=scales)) for growth in queue.growths]
    messages = Counter[Limit]()
    for growth, limit, _ in growths:
        messages[limit] += growth.messages
    in_order = sorted(messages, key=[*Limit].index)
    main = max(in_order, key=lambda limit: (messages[limit], limit is not Limit.NO_BACKLOG))
    of_main = [(growth, client_ids) for growth, limit, client_ids in growths if limit is main]
    return main, (queue, [growth for growth, _ in of_main], set().union(*(ids for _, ids in of_main)))


def _limit_of_growth(
    step: AuditedStep, signs: _Signs, growth: Growth, stood: Sequence[Diagnosis], *, scales: bool
) -> tuple[Limit, Set[str]]:
    """The limit under which a queue's backlog grew in one interval, and the owners that its findings name.

    Where owners are not known, some findings still tell the limit. Where the broker hands out the messages to all
    (POP), those do that are about all members, or about messages that come again.
    """
    interval = growth.progress.interval
    queue = MessageQueue(interval.topic, *growth.progress.queues[growth.place])
    owner_ids = growth.progress.owner_ids(growth.place)
    owners = interval.client_ids if interval.is_shared_out else [each for each in owner_ids if each is not None]
    relevant = [sign for about in (queue, *owners, None) for sign in signs.get(about, ()) if _is_then(sign[1], growth)]
    if interval.is_shared_out:
        relevant = [sign for sign in relevant if _is_about_all(sign[0], relevant, owners)]
    named = min((limit for limit, _ in relevant), key=[*Limit].index, default=None)
    is_busy = named is None and any(_is_busy(step, client_id, growth) for client_id in owners)
    facts = _facts(growth, named, owners, stood, is_busy=is_busy, scales=scales)
    client_ids = (finding.evidence.client_ids for limit, finding in relevant if limit is facts.named)
    return limit_of(facts), set(owners).intersection(chain.from_iterable(client_ids))


def _is_busy(step: AuditedStep, client_id: str, growth: Growth) -> bool:
    """Return whether the client reports at a growth, or in the minute after it, that nearly all its threads are busy:
    too short for a finding. It reports what it consumed in the minute before.
    """
    time = growth.start, growth.end + MINUTE
    return any(common(span.time, time) for span in busy_spans(step).get(client_id, ()))


def _is_then(finding: Finding, growth: Growth) -> bool:
    """Return whether a finding is about the topic of a growth, or what comes back to it, at its time or its start."""
    is_early, interval = finding.started_at < max(growth.end, growth.start + 1), growth.progress.interval
    is_sent_back = finding.rule == "CONSUME_FAILING" and not interval.is_ordinary
    return is_early and growth.start < finding.ended_at and (finding.topic in (None, interval.topic) or is_sent_back)


def _facts(
    growth: Growth,
    named: Limit | None,
    owners: Collection[str],
    stood: Sequence[Diagnosis],
    *,
    is_busy: bool,
    scales: bool,
) -> GrowthFacts:
    """The facts of a growth. Without a finding (`named`), its own samples name the limit, else why the queue stood,
    else that its owner `is_busy`.
    """
    interval = growth.progress.interval
    owner: Owner | None = "CLIENT" if owners else None
    if interval.allocation is None and not interval.unreadable:
        is_unseen = interval.reason in CONSUMED_UNSEEN
        owner = "UNSEEN" if is_unseen else "HANDED_OUT" if interval.is_shared_out else "NOT_REPLAYED"
    popped = interval.is_shared_out or interval.has_popping_members
    if growth.is_worked_off:
        named = Limit.WORKED_OFF
    elif growth.is_rewound and named in (None, Limit.IMBALANCE) and owner == "CLIENT":
        named = Limit.REWOUND
    elif named in (None, Limit.IMBALANCE) and owner == "CLIENT" and not popped:
        diagnosis = _most_of(growth, stood)
        named = Limit(diagnosis.line.bottleneck) if diagnosis else Limit.LISTENER if is_busy else named
    has_idle = interval.allocation is not None and 0 in interval.allocation.queues_per_member
    room = len(interval.client_ids) < _readable(growth.progress) and not has_idle
    return GrowthFacts(named, owner, room, popped, scales)


def _most_of(growth: Growth, stood: Iterable[Diagnosis]) -> Diagnosis | None:
    """The diagnosis that lasts for half of the growth's time, or in which half of its messages came; None: none."""
    for each in stood:
        start, end = max(each.standing.start, growth.start), min(each.standing.seen_at, growth.end)
        grown = each.standing.lag_last - each.standing.lag_first
        if start < end and (2 * (end - start) >= growth.end - growth.start or 0 < growth.messages <= 2 * grown):
            return each
    return None


def _is_about_all(limit: Limit, signs: Iterable[tuple[Limit, Finding]], members: Collection[str]) -> bool:
    """Return whether the findings of a limit are about all members, or about what every member may pop. No
    connection matters to queues that have no owner.
    """
    named = set().union(*(finding.evidence.client_ids for other, finding in signs if other is limit))
    about_members = len(members) > 0 and set(members) <= named and limit is not Limit.RECONNECTS
    return limit in (Limit.REDELIVERIES, Limit.FILTERED) or about_members


def _readable(progress: IntervalProgress) -> int:
    """Readable queues of the interval's topic."""
    allocation = progress.interval.allocation
    return len(progress.queues) if allocation is None else allocation.readable_count


def _threads(step: AuditedStep, client_ids: Iterable[str]) -> int | None:
    """Consume threads of the clients together, as last reported in the step; None: those of one are not known."""
    runs_of_clients = (
        client.series.runs(step.window.start, step.window.end) if client else ()
        for client in map(step.history.clients.get, client_ids)
    )
    last_first = ((run.state.consume_threads for run in reversed(runs)) for runs in runs_of_clients)
    return whole_sum(next((threads for threads in of if threads is not None), None) for of in last_first)
