"""IDLE_CONSUMER: a member that owns no queue of any topic but retry topics."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.rules.member_loads import MemberLoad, agreed_intervals, member_loads
from spark_jobs.domain.rules.rule import Cause, Rule

MORE_MEMBERS_THAN_QUEUES = "MORE_MEMBERS_THAN_QUEUES"
PUSHED_OUT_BY_DUPLICATES = "PUSHED_OUT_BY_DUPLICATES"
LEFT_OUT_BY_STRATEGY = "LEFT_OUT_BY_STRATEGY"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client id, span in which it was a member and owned nothing); one condition per client id and cause."""
    agreed = agreed_intervals(step)
    # Who is idle in all topics is so in one.
    if not any(interval.allocation and 0 in interval.allocation.queues_per_member for interval in agreed):
        return
    for load in member_loads(agreed):
        if load.queues == 0:
            yield RuleHit(
                *(load.start, load.end, _cause(load)),
                client_id=load.client_id,
                implicated=load.client_id,
                member_count=load.member_count,
                queue_count=load.queue_count,
            )


def _cause(load: MemberLoad) -> str:
    """Connections that share an id are one consumer too many in the list, not in the group."""
    if load.id_count > load.queue_count:
        return MORE_MEMBERS_THAN_QUEUES
    return PUSHED_OUT_BY_DUPLICATES if load.member_count > load.queue_count else LEFT_OUT_BY_STRATEGY


RULE = Rule(
    name="IDLE_CONSUMER",
    headline="{subjects} of {groups} {subjects:owns|own} no queue",
    meaning="A member owns no queue of its topics, except of retry topics. WARN: nothing breaks.",
    decided_by="The replay shows it for `persistent_after_seconds`.",
    causes={
        MORE_MEMBERS_THAN_QUEUES: Cause(
            "more client ids than queues",
            "More members than queues consume no more. If they stand by for one that fails, nothing is wrong: silence "
            "this. Otherwise stop the surplus consumers, or add queues, unless the topic has one queue for its order.",
        ),
        PUSHED_OUT_BY_DUPLICATES: Cause(
            "more connections than queues, but not more client ids",
            "Connections that share a client id leave no queue for this member. Give every consumer its own client id.",
        ),
        LEFT_OUT_BY_STRATEGY: Cause(
            "enough queues",
            "With CONSISTENT_HASH, raise virtualNodeCnt; otherwise check the rooms and the configured queue lists.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="persistent_after_seconds",
)
