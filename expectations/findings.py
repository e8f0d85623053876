"""Laws of the findings: a violation is a bug of the audit."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.common import one_of
from expectations.suite import Expectation, Suite
from schemas import ALLOCATIONS, CLIENT_SNAPSHOTS, FINDINGS, REBALANCE_INTERVALS, Table
from spark_jobs.domain.rules import consume_failing, unobserved
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.severities import SEVERITIES

_GROUP = ("step_start", "cluster", "consumer_group")
_QUEUE = (*_GROUP, "topic", "broker_name", "queue_id")
_RULES = one_of(rule.name for rule in RULES)
#: What clients tell, and silence, may be about a group or topic of which too little is known for an interval.
_OF_SOURCES = one_of(
    rule.name
    for rule in RULES
    if CLIENT_SNAPSHOTS.name in rule.needs or rule in (unobserved.RULE, consume_failing.RULE)
)


def with_subjects(findings: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `has_group` and `has_topic`: the intervals of the step have them; `strangers`: queues of the evidence, said
    to be unassigned or double owned, that no allocation of the step has; null: none; `has_root`: the step of the group
    has a root with the id that is named.
    """
    intervals = others[REBALANCE_INTERVALS]
    groups = intervals.select(*_GROUP).distinct().withColumn("has_group", F.lit(True))
    topics = intervals.select(*_GROUP, "topic").distinct().withColumn("has_topic", F.lit(True))
    touched = findings.select("finding_id", *_GROUP, F.explode("evidence.queues").alias("queue")).where(
        "queue.role IN ('UNASSIGNED', 'DOUBLE_OWNED')"
    )
    named = touched.select("finding_id", *_GROUP, "queue.topic", "queue.broker_name", "queue.queue_id")
    strangers = named.join(others[ALLOCATIONS].select(*_QUEUE), on=list(_QUEUE), how="left_anti")
    roots = findings.where("root_finding_id IS NULL").select(*_GROUP, F.col("finding_id").alias("root_finding_id"))
    named_roots = roots.distinct().withColumn("has_root", F.lit(True))
    return (
        findings.join(groups, on=list(_GROUP), how="left")
        .join(topics, on=[*_GROUP, "topic"], how="left")
        .join(named_roots, on=[*_GROUP, "root_finding_id"], how="left")
        .join(strangers.groupBy("finding_id").agg(F.count(F.lit(1)).alias("strangers")), on="finding_id", how="left")
    )


SUITE = Suite(
    FINDINGS,
    series=("cluster", "consumer_group"),
    prepare=with_subjects,
    expectations=(
        Expectation(
            "span_is_inside_the_step",
            "A finding begins and ends inside its step, and has a duration.",
            "start >= step_start AND start < end AND end <= timestampadd(SECOND, step_seconds, step_start)",
        ),
        Expectation("rule_is_known", "The rule is in the catalog.", f"rule IN {_RULES}"),
        Expectation("severity_is_known", "The severity is a value of the enum.", f"severity IN {one_of(SEVERITIES)}"),
        Expectation(
            "cause_is_known",
            "The cause is one of the causes of its rule.",
            f"rule NOT IN {_RULES} OR concat_ws(' ', rule, cause) IN "
            + one_of(f"{rule.name} {cause}" for rule in RULES for cause in rule.causes),
        ),
        Expectation(
            "group_was_audited",
            "The group has intervals in the step, unless the finding comes from client snapshots or from missing ones.",
            f"coalesce(has_group, false) OR rule IN {_OF_SOURCES}",
        ),
        Expectation(
            "topic_was_audited",
            "The topic, if one is named, has intervals in the step, unless the finding comes from client snapshots or "
            "from missing ones.",
            f"topic IS NULL OR coalesce(has_topic, false) OR rule IN {_OF_SOURCES}",
        ),
        Expectation(
            "queues_are_allocated",
            "Queues that are unassigned or owned twice are queues of an allocation.",
            "NOT whole_groups OR coalesce(strangers, 0) = 0",
        ),
        Expectation(
            "root_is_a_root",
            "A consequence names a finding of its group and step that is itself not a consequence.",
            "root_finding_id IS NULL OR coalesce(has_root, false)",
        ),
        Expectation(
            "evidence_is_not_negative",
            "Messages of the evidence are 0 or more, or unknown.",
            "coalesce(least(evidence.backlog_start, evidence.backlog_end, evidence.backlog_max, evidence.produced, "
            "evidence.consumed), 0) >= 0",
        ),
        Expectation(
            "backlog_balances",
            "For every queue of the evidence: backlog before + produced − consumed = backlog after, if there was a "
            "backlog at both ends.",
            "forall(evidence.queues, q -> NOT (q.backlog_start > 0 AND q.backlog_end > 0) "
            "OR coalesce(q.backlog_start + q.produced - q.consumed = q.backlog_end, true))",
        ),
    ),
)
