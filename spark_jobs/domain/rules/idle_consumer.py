"""IDLE_CONSUMER: a member that owns no queue of any topic but retry topics."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.rules import broker_not_readable
from spark_jobs.domain.rules.member_loads import agreed_intervals, member_loads
from spark_jobs.domain.rules.roots import Follows, everything
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "IDLE_CONSUMER"
MORE_MEMBERS_THAN_QUEUES = "MORE_MEMBERS_THAN_QUEUES"
LEFT_OUT_BY_STRATEGY = "LEFT_OUT_BY_STRATEGY"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client id, span in which it was a member and owned nothing); one condition per client id and cause."""
    agreed = agreed_intervals(step.replayed)
    # Who is idle in all topics is so in one.
    if not any(interval.allocation and 0 in interval.allocation.queues_per_member for interval in agreed):
        return
    for load in member_loads(agreed):
        if load.queues == 0:
            more_members = load.member_count > load.queue_count
            yield RuleHit(
                load.start,
                load.end,
                cause=MORE_MEMBERS_THAN_QUEUES if more_members else LEFT_OUT_BY_STRATEGY,
                client_id=load.client_id,
                implicated=load.client_id,
                member_count=load.member_count,
                queue_count=load.queue_count,
                severity=WARN,
            )


RULE = Rule(
    name=NAME,
    headline="{subjects} of {groups} {subjects:owns|own} no queue",
    meaning="The member owns no queue of any topic that it subscribes to. Retry topics do not count (they usually have "
    "one queue per broker).",
    decided_by="the replayed allocation, while all brokers of the topic list the same members. WARN: the member is "
    "wasted, but nothing breaks.",
    causes={
        MORE_MEMBERS_THAN_QUEUES: Cause(
            "the group has more connections than the topic has queues",
            "The group has more members than queues, so more consumers cannot help. Stop the surplus consumers, or add "
            "queues.",
        ),
        LEFT_OUT_BY_STRATEGY: Cause(
            "there are enough queues, but the strategy gives this member none",
            "The strategy gives this member no queue. With CONSISTENT_HASH, raise virtualNodeCnt; otherwise check the "
            "rooms and the configured queue lists.",
        ),
    },
    example="`inventory-service`: three members share two queues, so the third is idle for the whole recording.",
    hits=hits,
    follows=(Follows(broker_not_readable.NAME, everything, (MORE_MEMBERS_THAN_QUEUES,)),),
)
