"""MEMBERS_UNSEEN: the group is consumed, and no broker lists who does."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, Reason
from spark_jobs.domain.rules.rule import Cause, Rule


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per interval of an ordinary topic that somebody unseen consumes; one condition per group and cause.

    A broker that was restarted knows its clients again after a heartbeat.
    """
    return [
        RuleHit(interval.start, interval.end, interval.reason)
        for interval in step.intervals
        if interval.is_ordinary and interval.reason in CONSUMED_UNSEEN
    ]


RULE = Rule(
    name="MEMBERS_UNSEEN",
    headline="No broker lists the consumers of {groups}, and it is not offline",
    meaning="No broker lists a member, but the group is not offline. Clients of a cluster-mode proxy register with the "
    "proxy only. Ownership is not replayed; lag and verdicts are as in any group. INFO.",
    decided_by="No broker lists a member, and a recorded proxy lists one, or committed offsets advance in two rounds "
    "of the recorder. It ends if no offset advances for `stalled_after_seconds` while messages are produced: the group "
    "is then offline.",
    causes={
        Reason.CONSUMED_THROUGH_PROXY: Cause(
            "the cluster has a proxy",
            "The proxies know the members: record the group's consumer connections from every proxy, too (on its "
            "remoting port). The proxies are the connections of CID_DefaultHeartBeatSyncerTopic.",
        ),
        Reason.CONSUMED_BY_UNSEEN: Cause(
            "no proxy is known",
            "A consumer that no recorded broker lists commits offsets. Record the consumer connections of every "
            "broker, and of CID_DefaultHeartBeatSyncerTopic, whose connections are the proxies.",
        ),
    },
    evaluate=hits,
    hit_severity=INFO,
    lasts="settled_seconds",
)
