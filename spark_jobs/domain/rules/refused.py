"""Topics that a broker refuses to members: the group's subscription there, that of its last heartbeat, lacks them. A
push consumer then gets SUBSCRIPTION_NOT_EXIST, 24 (`PullMessageProcessor`); pull consumers send their own subscription.
"""

from collections.abc import Iterator

from spark_jobs.domain.diagnosis.measure import pulling_by_hand
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.causes import REFUSED
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Matrix
from spark_jobs.domain.model.window import SECOND, Time, common, joined, without
from spark_jobs.domain.rocketmq.strategies import is_popped

#: Two heartbeats of every member: a subscription that changes with each of them refuses only now and then.
_LASTS = 60 * SECOND


def refused_hits(step: AuditedStep, role: str) -> Iterator[RuleHit]:
    """One per (interval, queue with messages of which none is consumed, owner, time in which its broker refuses it)."""
    by_hand = pulling_by_hand(step)
    for broker in step.memberships:
        for interval in step.replayed:
            for time in _refusing(step, broker, interval.topic):
                part = common(time, (interval.start, interval.end))
                for start, end in without(part, by_hand) if part else ():
                    yield from _queues(step, interval, broker, (start, end), role)


def _refusing(step: AuditedStep, broker: str, topic: str) -> Iterator[Time]:
    """The times in which a broker with members does not know that the group subscribes to the topic."""
    lacking = [
        (span.start, span.end)
        for span in step.memberships[broker]
        if span.state.connections and topic not in span.state.topics
    ]
    return (time for time in joined(lacking) if time[1] - time[0] >= _LASTS)


def _queues(step: AuditedStep, interval: RebalanceInterval, broker: str, time: Time, role: str) -> Iterator[RuleHit]:
    allocation, members = interval.allocation, interval.members or ()
    pushing = {member.client_id for member in members if member.known and not is_popped(member.strategy)}
    if allocation is None or not interval.is_ordinary:
        return
    for queue, client_ids in zip(allocation.queues, allocation.owner_ids, strict=True):
        if queue[0] == broker and _is_standing(step, interval.topic, queue, time):
            for client_id in pushing.intersection(client_ids):
                refused = FindingQueue(interval.topic, *queue, role)
                yield RuleHit(*time, REFUSED, interval.topic, queue=refused, implicated=client_id)


def _is_standing(step: AuditedStep, topic: str, queue: tuple[str, int], time: Time) -> bool:
    """Return whether messages were produced to the queue meanwhile, and none is known to have been consumed."""
    samples = step.unread.get(topic) or step.history.offsets.get(topic)
    if samples is None or queue not in samples.columns:
        return False
    cells = samples.inside(*time), samples.columns[queue]
    return _grows(samples.end_offset[cells]) and not _grows(samples.consumed_to[cells])


def _grows(offsets: Matrix) -> bool:
    known = offsets[offsets != UNKNOWN]
    return bool(len(known) and known[-1] > known[0])
