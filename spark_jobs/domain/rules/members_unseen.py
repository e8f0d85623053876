"""MEMBERS_UNSEEN: the group is consumed, and no broker lists who does."""

from collections.abc import Iterable

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, Reason
from spark_jobs.domain.rules.rule import Cause, Rule


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One per interval of an ordinary topic that an unseen client consumes; one condition per group and cause."""
    return [
        RuleHit(interval.start, interval.end, interval.reason)
        for interval in step.intervals
        if interval.is_ordinary and interval.reason in CONSUMED_UNSEEN
    ]


RULE = Rule(
    name="MEMBERS_UNSEEN",
    headline="No broker lists the consumers of {groups}, and it is not offline",
    meaning="No broker lists a member, but the group is not offline. Clients of a cluster-mode proxy register with "
    "the proxy only. Owners are unknown; lag and verdicts are not. INFO.",
    decided_by="A recorded proxy lists a member, or committed offsets advance in two rounds of the recorder. If "
    "messages are produced and no offset advances for `stalled_after_seconds`, the group is offline.",
    causes={
        Reason.CONSUMED_THROUGH_PROXY: Cause(
            "the cluster has a proxy",
            "Record the group's consumer connections also from every proxy, on its remoting port. The proxies are "
            "the connections of CID_DefaultHeartBeatSyncerTopic.",
        ),
        Reason.CONSUMED_BY_UNSEEN: Cause(
            "no proxy is known",
            "An unknown consumer commits offsets. Record the connections of every broker, and of "
            "CID_DefaultHeartBeatSyncerTopic, whose connections are the proxies.",
        ),
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts="settled_seconds",
)
