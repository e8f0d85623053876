"""Groups behind proxies, and offsets that say what was handed out, not what was consumed.

With POP, and so for gRPC clients, the broker moves the offset when it hands messages out (`PopMessageProcessor`).
"""

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.kernel.unseen import by_proxies
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import SECOND, Time, common, covered


def is_handed_out(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether the interval's backlog may lack messages that clients hold: popped, or behind a proxy."""
    if interval.is_shared_out or interval.has_popping_members:
        return True
    if interval.reason is not Reason.CONSUMED_THROUGH_PROXY:
        return False
    spans = (span for of_proxy in by_proxies(step.memberships).values() for span in of_proxy)
    listed = {client_id for span in spans for client_id in span.state.client_ids}
    return not listed or any(map(is_grpc, listed))


@cached_with_value
def may_be_behind_proxies(step: AuditedStep) -> bool:
    """Return True if no broker listed a member, and the cluster has proxies that were not asked for members."""
    if by_proxies(step.memberships) or any(span.state.connections for span in step.membership_spans):
        return False
    proxies = (series.spans(step.window, step.settings.max_gap) for series in step.history.proxies.values())
    return any(span.state.connections for spans in proxies for span in spans)


def seconds_listed_by_proxies(step: AuditedStep, time: Time) -> float:
    """For how long a proxy lists members in a time, seconds."""
    listing = (span for spans in by_proxies(step.memberships).values() for span in spans if span.state.connections)
    return covered(shared for span in listing if (shared := common(time, span.time))) / SECOND
