"""All rules, in the order in which docs/findings.md explains them."""

from spark_jobs.domain.rules import (
    allocation_drift,
    begins_at_oldest,
    broker_not_readable,
    client_hung,
    consume_failing,
    consumer_lagging,
    double_owned_queue,
    duplicate_client_id,
    flapping_member,
    flow_controlled,
    ghost_member,
    group_offline,
    idle_consumer,
    load_imbalance,
    membership_view_split,
    messages_skipped,
    near_capacity,
    offset_beyond_end,
    offset_rewound,
    orderly_lock_missing,
    pop_redelivering,
    pop_revive_stuck,
    producer_skew,
    rebalance_storm,
    redelivery_exposure,
    retention_risk,
    slow_listener,
    stranded_write_queues,
    subscription_mismatch,
    topic_missing,
    unassigned_queue,
    unobserved,
)
from spark_jobs.domain.rules.mixed_clients import MIXED_CLIENTS, MIXED_STRATEGIES
from spark_jobs.domain.rules.old_pulls import CLOCK_DIFFERS, LONG_PULL_INTERVAL
from spark_jobs.domain.rules.owners_unknown import MEMBERS_UNSEEN, STRATEGY_UNKNOWN
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.rules.standing import COMMITS_SELDOM, CONSUMER_STALLED, CONSUMER_STOPPED, OFFSET_HELD_BACK

RULES: tuple[Rule, ...] = (
    *(duplicate_client_id.RULE, unassigned_queue.RULE, double_owned_queue.RULE, idle_consumer.RULE),
    *(rebalance_storm.RULE, flapping_member.RULE, redelivery_exposure.RULE, group_offline.RULE, MEMBERS_UNSEEN),
    *(subscription_mismatch.RULE, membership_view_split.RULE, STRATEGY_UNKNOWN, MIXED_STRATEGIES, MIXED_CLIENTS),
    *(topic_missing.RULE, stranded_write_queues.RULE, broker_not_readable.RULE, load_imbalance.RULE, ghost_member.RULE),
    *(client_hung.RULE, LONG_PULL_INTERVAL, CLOCK_DIFFERS, allocation_drift.RULE, flow_controlled.RULE),
    *(orderly_lock_missing.RULE, slow_listener.RULE, near_capacity.RULE, consume_failing.RULE),
    *(pop_redelivering.RULE, pop_revive_stuck.RULE, OFFSET_HELD_BACK, COMMITS_SELDOM, CONSUMER_STOPPED),
    *(CONSUMER_STALLED, consumer_lagging.RULE, offset_rewound.RULE, messages_skipped.RULE, offset_beyond_end.RULE),
    *(begins_at_oldest.RULE, producer_skew.RULE, retention_risk.RULE, unobserved.RULE),
)
