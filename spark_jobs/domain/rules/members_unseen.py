"""MEMBERS_UNSEEN: the group is consumed, and no broker lists who does."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, Reason
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "MEMBERS_UNSEEN"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per interval of an ordinary topic that somebody unseen consumes; one condition per group and cause.

    A broker that was restarted knows its clients again after a heartbeat.
    """
    thresholds = step.settings.thresholds
    return [
        RuleHit(
            interval.start,
            interval.end,
            cause=interval.reason,
            severity=INFO,
            minimum_seconds=thresholds.settled_seconds,
        )
        for interval in step.intervals
        if interval.is_ordinary and interval.reason in CONSUMED_UNSEEN
    ]


RULE = Rule(
    name=NAME,
    headline="No broker lists the consumers of {groups}, and it is not offline",
    meaning="No broker lists a connection of the group, but the group is not offline: clients of a cluster-mode proxy "
    "(gRPC and remoting) register with the proxy, so brokers do not know them. Ownership is not replayed, as "
    "the members are unknown; lag and verdicts are judged as in any group. One finding per group and cause, "
    "INFO.",
    decided_by="no broker lists a member, and either a proxy that was asked (`proxy host:port` in "
    "membership_snapshots) lists a connection of the group, or committed offsets advance in at least two "
    "rounds of the recorder. If the group `CID_DefaultHeartBeatSyncerTopic` shows a proxy in the cluster "
    "and the group was not seen to connect to brokers, offsets that say nothing suffice (never committed, "
    "as may happen with POP, or no messages produced). The condition ends when no offset advances for "
    "`stalled_after_seconds` while messages are produced: the group is offline from the last advance on.",
    causes={
        Reason.CONSUMED_THROUGH_PROXY: Cause(
            "the cluster has a proxy",
            "The proxies know the members: `rebalance-audit explain` shows them if the group's consumer connections "
            "are recorded from every proxy, too (on its remoting port). The proxies are the connections of "
            "CID_DefaultHeartBeatSyncerTopic.",
        ),
        Reason.CONSUMED_BY_UNSEEN: Cause(
            "no proxy was seen in the cluster",
            "A consumer that no recorded broker lists commits offsets. Record the consumer connections of every "
            "broker, and the group CID_DefaultHeartBeatSyncerTopic, whose connections are the proxies.",
        ),
    },
    example="none: the cluster of this recording has no proxy.",
    hits=hits,
)
