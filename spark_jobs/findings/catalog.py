"""All rules, in the order in which docs/findings.md explains them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.findings import (
    consumer_progress,
    double_owned_queue,
    duplicate_client_id,
    idle_consumer,
    offset_rewound,
    producer_skew,
    retention_risk,
    unassigned_queue,
)
from spark_jobs.findings.rule import Rule

RULES: tuple[Rule, ...] = (
    duplicate_client_id.RULE,
    unassigned_queue.RULE,
    double_owned_queue.RULE,
    idle_consumer.RULE,
    consumer_progress.STOPPED_RULE,
    consumer_progress.STALLED_RULE,
    consumer_progress.LAGGING_RULE,
    offset_rewound.RULE,
    producer_skew.RULE,
    retention_risk.RULE,
)


def advice() -> Column:
    """What to do, for a row's `rule` and `cause`."""
    texts = {f"{rule.name} {name}": cause.advice for rule in RULES for name, cause in rule.causes.items()}
    in_turns = (F.lit(text) for entry in texts.items() for text in entry)
    return F.try_element_at(F.create_map(*in_turns), F.concat_ws(" ", "rule", "cause"))
