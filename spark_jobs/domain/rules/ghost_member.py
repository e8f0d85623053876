"""GHOST_MEMBER: a client that brokers list in the group, and that has no consumer of it."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import unwell_spans
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.window import Time, overlaps
from spark_jobs.domain.rules.links import own_client
from spark_jobs.domain.rules.queue_owners import connections_of, owned_queues
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

NOT_IN_GROUP = "NOT_IN_GROUP"
GHOST = "GHOST"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time in which two snapshots show no consumer, interval, owned queue); one condition per client."""
    for client_id, spans in unwell_spans(step).items():
        ghost_spans = [span for span in spans if not span.state.reported.in_group and span.seen_at > span.start]
        for interval in step.replayed if ghost_spans else ():
            for _, start, end in overlaps(interval.start, interval.end, ghost_spans):
                yield from _ghost_hits(interval, client_id, (start, end))


def _ghost_hits(interval: RebalanceInterval, client_id: str, time: Time) -> Iterator[RuleHit]:
    connections = connections_of(interval, client_id)
    for queue in owned_queues(interval, client_id, GHOST):
        yield RuleHit(
            *time, NOT_IN_GROUP, client_id=client_id, queue=queue, implicated=client_id, connections=connections
        )


RULE = Rule(
    name="GHOST_MEMBER",
    headline="{subjects} {subjects:is|are} listed in {groups}, but {subjects:has|have} no consumer there: "
    "{subjects:its|their} queues are not consumed",
    meaning="Brokers list a client whose process has no consumer of the group any more. Its queues are not consumed. "
    "The broker missed the request to unregister it, and the process stays connected for other groups "
    "(`rebalance-audit clients` finds them). Brokers before 5.5.1 keep it as long as that connection lives (RocketMQ "
    "issue #10435), later ones for 120 s, unless it uses `useHeartbeatV2`.",
    decided_by="The client has queues, and at least two client snapshots in `silent_after_seconds` (60) show no "
    "consumer of the group.",
    causes={
        NOT_IN_GROUP: Cause(
            "always",
            "Restart that process: brokers remove the member when its connection is closed. Upgrade brokers to 5.5.1 "
            "or later. Until then give consumers that are shut down in a running process a separate instanceName, and "
            "so their own connection.",
        )
    },
    evaluate=hits,
    lasts="silent_after_seconds",
    needs=(CLIENT_SNAPSHOTS,),
    spreads_by=own_client,
)
