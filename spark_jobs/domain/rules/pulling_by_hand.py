"""When the members of a group pull by themselves, and so when and what they like."""

from __future__ import annotations

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.times import Time, offline_times

#: `ConsumeType` of the group.
PULLS_BY_HAND = "CONSUME_ACTIVELY"


def pulling_by_hand(step: AuditedStep) -> list[Time]:
    """When a broker says that the group's members pull themselves (DefaultLitePullConsumer, DefaultMQPullConsumer):
    then the application pulls when it likes.
    """
    every = (span for spans in step.memberships.values() for span in spans)
    return offline_times(((span.start, span.end) for span in every if span.state.consume_type == PULLS_BY_HAND), ())
