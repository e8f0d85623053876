"""MEMBERS_UNSEEN: the group is consumed, and no broker lists who does."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.domain.audited_step import ALL_HOSTS, CONSUMED_UNSEEN, AuditedStep
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit
from spark_jobs.domain.unseen import UnseenReason

NAME = "MEMBERS_UNSEEN"


def hits(step: AuditedStep) -> Iterable[RuleHit]:
    """One hit per interval of an ordinary topic that somebody unseen consumes; one condition per group and cause.

    A broker that was restarted knows its clients again after a heartbeat.
    """
    thresholds = step.settings.thresholds
    return [
        RuleHit(
            one.start,
            one.end,
            cause=one.reason,
            view=ALL_HOSTS,
            seen_at=one.seen_at,
            severity="INFO",
            minimum_seconds=float(thresholds.convergence_seconds + thresholds.heartbeat_seconds),
        )
        for one in step.intervals
        if one.is_ordinary and one.reason in CONSUMED_UNSEEN
    ]


RULE = Rule(
    name=NAME,
    headline="{groups} is consumed, and no broker lists by whom",
    meaning="No broker lists a connection of the group, and it is not offline: clients of a cluster-mode proxy (gRPC "
    "and remoting) register with the proxy, and brokers do not know them. Nothing is replayed, as the members are not "
    "known; lag and verdicts are those of any group. One finding per group and cause, INFO.",
    decided_by="no broker lists anybody, and a proxy that was asked (`proxy host:port` in membership_snapshots) lists "
    "a connection of the group, or committed offsets advance, in two rounds of the recorder at least. Where "
    "the group `CID_DefaultHeartBeatSyncerTopic` shows a proxy in the cluster and the group was not seen to connect to "
    "brokers: also where offsets tell nothing (never committed, as POP may leave them, or no messages came). Until no "
    "offset advances for `stalled_after_seconds` while messages come in: from the last advance on the group is "
    "offline.",
    causes={
        UnseenReason.CONSUMED_THROUGH_PROXY: Cause(
            "the cluster has a proxy",
            "To see the members, record the consumer connections of the group from every proxy too (its remoting "
            "port): the connections of CID_DefaultHeartBeatSyncerTopic are the proxies.",
        ),
        UnseenReason.CONSUMED_BY_UNSEEN: Cause(
            "no proxy was seen in the cluster",
            "Record the group CID_DefaultHeartBeatSyncerTopic, whose connections are the proxies, and the consumer "
            "connections of every broker: somebody commits offsets whom no recorded broker lists.",
        ),
    },
    example="no group: no proxy in this recording.",
    hits=hits,
)
