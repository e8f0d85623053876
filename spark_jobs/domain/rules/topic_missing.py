"""TOPIC_MISSING: members subscribe to a topic that no broker has."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.statuses import WITHOUT_ROUTE, Reason
from spark_jobs.domain.model.window import common
from spark_jobs.domain.rules.rule import Cause, Rule

NO_BROKER = "NO_BROKER"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval of an ordinary topic that never had a route, while the name server gave that of another one."""
    routed = {interval.topic for interval in step.intervals if interval.reason not in WITHOUT_ROUTE}
    has_another = any(interval.is_ordinary for interval in step.intervals if interval.topic in routed)
    for interval in step.intervals:
        is_missing = interval.is_ordinary and interval.reason is Reason.NO_ROUTE and interval.topic not in routed
        if routed and is_missing and _is_wanted(step, interval):
            severity = INFO if has_another else WARN
            yield RuleHit(interval.start, interval.end, NO_BROKER, interval.topic, severity=severity)


def _is_wanted(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether a connected member subscribes to the topic in the interval."""
    return any(
        span.state.connections and interval.topic in span.state.topics
        for spans in step.memberships.values()
        for span in spans
        if common((span.start, span.end), (interval.start, interval.end))
    )


RULE = Rule(
    name="TOPIC_MISSING",
    headline="Consumers of {groups} subscribe to {topics}, which no broker has",
    meaning="Members subscribe to a topic of which the name server knows no broker, so they get nothing of it. WARN; "
    "INFO if the group also has a topic that exists: the subscription may be left over.",
    decided_by="For `verdict_window_seconds` (300) the topic has no route, nor had it one before in the step or its "
    "look-back, while another topic of the group, or its retry topic, has one.",
    causes={
        NO_BROKER: Cause(
            "always",
            "Look for the topic's name among those of the cluster (`mqadmin topicList`): it may be misspelt, lack its "
            "namespace, or be on another cluster. Create the topic, or correct the subscription.",
        )
    },
    evaluate=hits,
    lasts="verdict_window_seconds",
)
