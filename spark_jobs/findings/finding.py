"""From what the rules touched to the findings table."""

from __future__ import annotations

from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from schemas import FINDINGS
from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.findings import duplicate_client_id
from spark_jobs.findings.catalog import RULES, advice
from spark_jobs.findings.conditions import condition_queues, conditions, with_finding
from spark_jobs.findings.duplicate_client_id import probable_cause
from spark_jobs.findings.evidence import finding_evidence, readings_of
from spark_jobs.findings.rule import Audited
from spark_jobs.side_by_side import side_by_side

_EVIDENCE = FINDINGS.schema["evidence"].dataType


def all_touches(audited: Audited) -> DataFrame:
    """One row per touch of any rule, with the finding it belongs to.

    Kept before it is looked at: Spark analyses the whole plan again for each column that is added.
    """
    found = side_by_side(*(partial(rule.touches, audited) for rule in RULES))
    return reduce(DataFrame.union, found).transform(audited.keep).transform(with_finding)


def findings(audited: Audited) -> DataFrame:
    """One row per condition over its whole duration inside a step, as `schemas/findings.py` says."""
    keep = audited.keep
    touches = all_touches(audited).transform(keep)
    found = conditions(touches, audited.configuration).transform(keep)
    queues = condition_queues(touches, found).transform(keep)
    readings = readings_of(queues, audited.sources, audited.window).transform(keep)
    measured = finding_evidence(queues, readings)
    is_duplicate = F.col("rule") == duplicate_client_id.NAME
    cause = F.when(is_duplicate, probable_cause(F.col("client_id"), F.col("connections"), F.col("is_persistent")))
    return (
        found.join(measured, on="finding_id", how="left")
        .withColumn("cause", F.coalesce(cause, F.col("cause")))
        .withColumn("subject", F.coalesce("client_id", "subject", "topic", "consumer_group"))
        .withColumn("severity", F.coalesce("severity", severity()))
        .withColumn("evidence", _evidence())
        .withColumn("advice", advice())
        .select(*FINDINGS.columns)
    )


def severity() -> Column:
    """Where the rule does not say: ERROR for harm, WARN for what is so by design, INFO for what ends by itself or
    touched no message.
    """
    untouched = (F.col("produced") == 0) & (F.coalesce("backlog_max", F.lit(0)) == 0)
    return (
        F.when(
            F.col("rule") == duplicate_client_id.NAME,
            F.when(F.col("is_persistent"), "ERROR").otherwise("INFO"),
        )
        .when(untouched, "INFO")
        .when(F.col("cause") == UnassignedCause.ROOM_FILTER.value, "WARN")
        .otherwise("ERROR")
    )


def _evidence() -> Column:
    persistence = F.when(F.col("is_persistent"), "PERSISTENT").otherwise("TRANSIENT")
    values = {
        "persistence": F.when(F.col("rule") == duplicate_client_id.NAME, persistence),
        "connections": F.when(F.size("connections") > 0, F.col("connections")),
        "queues": F.coalesce("queues", F.array()),
    }
    fields = [values.get(name, F.col(name)).alias(name) for name in _EVIDENCE.names]  # type: ignore[attr-defined]
    return F.struct(*fields).cast(_EVIDENCE)
