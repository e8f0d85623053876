"""Offsets that say what was handed out, and not what was consumed.

With POP, and so for gRPC clients, the broker moves the group's offset when it hands messages out
(`PopMessageProcessor`). Those that clients hold and have not acknowledged are in no count of consume stats.
"""

from __future__ import annotations

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import is_popped


def is_handed_out(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether messages that clients hold may be missing in the interval's backlog; so they may behind a proxy,
    unless it lists remoting clients only.
    """
    if interval.is_shared_out or any(is_popped(member.strategy) for member in interval.members or ()):
        return True
    return interval.reason is Reason.CONSUMED_THROUGH_PROXY and not _are_remoting(step)


def _are_remoting(step: AuditedStep) -> bool:
    listed = {
        connection.client_id
        for broker, spans in step.memberships.items()
        if broker.startswith(PROXY)
        for span in spans
        for connection in span.state.connections
    }
    return bool(listed) and not any(map(is_grpc, listed))
