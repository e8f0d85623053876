"""Groups behind proxies, and offsets that say what was handed out, not what was consumed.

With POP, and so for gRPC clients, the broker moves the offset when it hands messages out (`PopMessageProcessor`).
"""

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.statuses import Reason


def is_handed_out(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether the interval's backlog may lack messages that clients hold: popped, or behind a proxy."""
    if interval.is_shared_out or interval.has_popping_members:
        return True
    return interval.reason is Reason.CONSUMED_THROUGH_PROXY and not _are_remoting(step)


@cached_with_value
def may_be_behind_proxies(step: AuditedStep) -> bool:
    """Return True if no broker listed a member, and the cluster has proxies that were not asked for members."""
    if any(broker.startswith(PROXY) for broker in step.memberships) or any(
        span.state.connections for spans in step.memberships.values() for span in spans
    ):
        return False
    proxies = (series.spans(step.window, step.settings.max_gap) for series in step.history.proxies.values())
    return any(span.state.connections for spans in proxies for span in spans)


def _are_remoting(step: AuditedStep) -> bool:
    listed = {
        connection.client_id
        for broker, spans in step.memberships.items()
        if broker.startswith(PROXY)
        for span in spans
        for connection in span.state.connections
    }
    return bool(listed) and not any(map(is_grpc, listed))
