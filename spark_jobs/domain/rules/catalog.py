"""All rules, in the order in which docs/findings.md explains them."""

from spark_jobs.domain.rules import (
    allocation_drift,
    begins_at_oldest,
    broker_not_readable,
    consume_failing,
    consumer_lagging,
    duplicate_client_id,
    filter_matches_nothing,
    flapping_member,
    flow_controlled,
    group_offline,
    load_imbalance,
    membership_view_split,
    messages_skipped,
    near_capacity,
    offset_beyond_end,
    offset_rewound,
    orderly_lock_missing,
    producer_skew,
    retention_risk,
    rollout,
    slow_listener,
    subscription_mismatch,
    unassigned_queue,
    unobserved,
)
from spark_jobs.domain.rules.client_hung import CLIENT_HUNG, CLOCK_DIFFERS, GHOST_MEMBER, LONG_PULL_INTERVAL
from spark_jobs.domain.rules.member_loads import IDLE_CONSUMER
from spark_jobs.domain.rules.mixed_clients import MIXED_CLIENTS, MIXED_STRATEGIES
from spark_jobs.domain.rules.owners_unknown import MEMBERS_UNSEEN, STRATEGY_UNKNOWN, TOPIC_MISSING
from spark_jobs.domain.rules.popped import POP_REDELIVERING, POP_REVIVE_STUCK
from spark_jobs.domain.rules.queue_owners import DOUBLE_OWNED_QUEUE, STRANDED_WRITE_QUEUES
from spark_jobs.domain.rules.rebalancing import REBALANCE_STORM, REDELIVERY_EXPOSURE
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.rules.standing import COMMITS_SELDOM, CONSUMER_STALLED, CONSUMER_STOPPED, OFFSET_HELD_BACK

RULES: tuple[Rule, ...] = (
    *(duplicate_client_id.RULE, unassigned_queue.RULE, DOUBLE_OWNED_QUEUE, IDLE_CONSUMER),
    *(rollout.RULE, REBALANCE_STORM, flapping_member.RULE, REDELIVERY_EXPOSURE, group_offline.RULE, MEMBERS_UNSEEN),
    *(subscription_mismatch.RULE, filter_matches_nothing.RULE, membership_view_split.RULE, STRATEGY_UNKNOWN),
    *(MIXED_STRATEGIES, MIXED_CLIENTS),
    *(TOPIC_MISSING, STRANDED_WRITE_QUEUES, broker_not_readable.RULE, load_imbalance.RULE, GHOST_MEMBER),
    *(CLIENT_HUNG, LONG_PULL_INTERVAL, CLOCK_DIFFERS, allocation_drift.RULE, flow_controlled.RULE),
    *(orderly_lock_missing.RULE, slow_listener.RULE, near_capacity.RULE, consume_failing.RULE),
    *(POP_REDELIVERING, POP_REVIVE_STUCK, OFFSET_HELD_BACK, COMMITS_SELDOM, CONSUMER_STOPPED),
    *(CONSUMER_STALLED, consumer_lagging.RULE, offset_rewound.RULE, messages_skipped.RULE, offset_beyond_end.RULE),
    *(begins_at_oldest.RULE, producer_skew.RULE, retention_risk.RULE, unobserved.RULE),
)
