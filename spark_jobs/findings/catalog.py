"""All rules, in the order in which docs/findings.md explains them."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.findings import (
    allocation_drift,
    broker_not_readable,
    client_hung,
    consumer_progress,
    double_owned_queue,
    duplicate_client_id,
    flapping_member,
    flow_controlled,
    group_offline,
    idle_consumer,
    load_imbalance,
    membership_view_split,
    mixtures,
    offset_rewound,
    orderly_lock_missing,
    producer_skew,
    rebalance_storm,
    redelivery_exposure,
    retention_risk,
    slow_listener,
    stranded_write_queues,
    subscription_mismatch,
    unassigned_queue,
    unobserved,
)
from spark_jobs.findings.rule import Rule
from spark_jobs.sql import literal

RULES: tuple[Rule, ...] = (
    duplicate_client_id.RULE,
    unassigned_queue.RULE,
    double_owned_queue.RULE,
    idle_consumer.RULE,
    rebalance_storm.RULE,
    flapping_member.RULE,
    redelivery_exposure.RULE,
    group_offline.RULE,
    subscription_mismatch.RULE,
    membership_view_split.RULE,
    mixtures.STRATEGIES_RULE,
    mixtures.CLIENTS_RULE,
    stranded_write_queues.RULE,
    broker_not_readable.RULE,
    load_imbalance.RULE,
    client_hung.RULE,
    allocation_drift.RULE,
    flow_controlled.RULE,
    orderly_lock_missing.RULE,
    slow_listener.RULE,
    consumer_progress.STOPPED_RULE,
    consumer_progress.STALLED_RULE,
    consumer_progress.LAGGING_RULE,
    offset_rewound.RULE,
    producer_skew.RULE,
    retention_risk.RULE,
    unobserved.RULE,
)


def advice() -> Column:
    """What to do, for a row's `rule` and `cause`."""
    texts = {f"{rule.name} {name}": cause.advice for rule in RULES for name, cause in rule.causes.items()}
    entries = ", ".join(literal(text) for entry in texts.items() for text in entry)
    return F.expr(f"try_element_at(map({entries}), concat_ws(' ', rule, cause))")
