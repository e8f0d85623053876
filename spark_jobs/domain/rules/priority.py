"""Queues of a priority topic that POP passes over while queues of a higher priority hold messages."""

from __future__ import annotations

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.verdicts import VerdictSpan
from spark_jobs.domain.model.message_queue import PRIORITY
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.rules.rule import Cause

STARVATION = "PRIORITY_STARVATION"
CAUSE = Cause(
    "the topic's message type is PRIORITY, POP consumes it, and in all readings but the first one a queue of the same "
    "broker with a higher id had messages that were consumed: those of a higher priority come first (INFO)",
    "Higher priorities take all that the consumers can do. If low ones wait too long, add consumers, or lower the "
    "group's `priority.factor`, so that some requests take the queues in turn.",
)


def is_starved(step: AuditedStep, progress: IntervalProgress, span: VerdictSpan) -> bool:
    """Whether the broker had to give messages of a higher priority first, all the time that the queue stands still.

    A message's priority is the id of its queue, and a POP request for all queues of a broker gets what the highest one
    holds (unless `priorityOrderAsc` is false). Clients that own queues pull each of them.
    Source: `SendMessageProcessor`, `PopMessageProcessor.popMsgFromTopic`.
    """
    topic, (broker_name, queue_id) = progress.interval.topic, progress.queues[span.place]
    if progress.interval.status == Status.REPLAYED or step.topic_type(topic) != PRIORITY:
        return False
    readings = step.history.offsets[topic]
    broker_queues = ((number, column) for (name, number), column in readings.columns.items() if name == broker_name)
    higher = [column for number, column in broker_queues if number > queue_id]
    seen = readings.inside(span.start + 1, span.end)
    waiting, offsets = readings.lag[seen][:, higher] > 0, readings.consumed_to[seen][:, higher]
    return bool(waiting.any(axis=1).all() and (np.diff(offsets, axis=0) > 0).any())
