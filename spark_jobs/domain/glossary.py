"""The terms that messages, advice, help and pages use, each with one meaning; docs/glossary.md is made from them."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """One term: a sentence, the classes or settings of RocketMQ that hold it, and `table` or `table.column` here."""

    name: str
    meaning: str
    rocketmq: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


#: In alphabetical order.
TERMS = (
    Term(
        "allocation",
        "The division of a topic's queues among the members of a consumer group: which member owns which queue.",
        ("RebalanceImpl",),
        ("allocations",),
    ),
    Term(
        "allocation strategy",
        "The rule by which each member computes its share from the sorted client ids and queues, such as AVG.",
        ("AllocateMessageQueueStrategy",),
        ("rebalance_intervals.strategy",),
    ),
    Term(
        "audit step",
        "A fixed span of time, one hour by default, that is audited and published as a whole.",
        columns=("findings.step_start",),
    ),
    Term(
        "backlog",
        "The messages that a group has not consumed yet: the sum of the lag of its queues.",
        ("ConsumeStats.computeTotalDiff",),
        ("group_status.backlog_end",),
    ),
    Term(
        "broker offset",
        "The offset that the next message written to a queue will get.",
        ("OffsetWrapper.brokerOffset",),
        ("offset_snapshots.offsets",),
    ),
    Term(
        "cadence",
        "The time between two snapshots of the same thing, 20 seconds by default.",
        columns=("membership_snapshots.captured_at",),
    ),
    Term(
        "catch-up time",
        "How long until the last queue of a group has no lag, at the pace of its last readings.",
        columns=("group_status.catch_up_seconds",),
    ),
    Term(
        "cause",
        "Why a finding exists, as one of the causes of its rule.",
        columns=("findings.cause",),
    ),
    Term(
        "client id",
        "The name by which brokers know a client, ip@instanceName; every consumer of a group needs one of its own.",
        ("ClientConfig.buildMQClientId",),
        ("client_snapshots.client_id",),
    ),
    Term(
        "client snapshot",
        "What one client reported about itself: its queues, strategy, threads and response times.",
        ("ConsumerRunningInfo",),
        ("client_snapshots",),
    ),
    Term(
        "connection",
        "One entry in a broker's list of the clients of a group; clients that share a client id have one each.",
        ("ConsumerConnection.connectionSet",),
        ("membership_snapshots.connections",),
    ),
    Term(
        "consequence",
        "A finding that another one, its root, has caused.",
        columns=("findings.root_finding_id",),
    ),
    Term(
        "consumer",
        "A client that consumes messages as a member of a consumer group.",
        ("DefaultMQPushConsumer", "DefaultMQPullConsumer"),
        ("client_snapshots",),
    ),
    Term(
        "consumer group",
        "Consumers with the same group name, which share the queues of their topics.",
        ("MQConsumerInner.groupName",),
        ("group_status.consumer_group",),
    ),
    Term(
        "consumer offset",
        "The offset of the next message that a group will consume from a queue, as committed to the broker.",
        ("OffsetWrapper.consumerOffset",),
        ("queue_progress.consumer_offset",),
    ),
    Term(
        "dead-letter topic",
        "The topic %DLQ%<group>, which receives messages whose delivery failed too often.",
        ("MixAll.DLQ_GROUP_TOPIC_PREFIX",),
    ),
    Term(
        "duplicate client id",
        "A client id that several connections of a group share, so all of them consume the same queues.",
        ("ClientConfig.buildMQClientId",),
        ("rebalance_intervals.distinct_members",),
    ),
    Term(
        "finding",
        "One condition that a rule reports, over its whole duration inside an audit step.",
        columns=("findings",),
    ),
    Term(
        "flow control",
        "A client stops pulling from a queue while it has cached too many of its messages.",
        ("pullThresholdForQueue", "pullThresholdSizeForQueue", "consumeConcurrentlyMaxSpan"),
        ("client_snapshots.owned_queues",),
    ),
    Term(
        "headroom",
        "How many more messages per second could be produced before the first member falls behind.",
        columns=("group_status.headroom",),
    ),
    Term(
        "heartbeat",
        "The message that a client sends to every broker about every 30 seconds, with its groups and subscriptions.",
        ("HeartbeatData",),
    ),
    Term(
        "idle member",
        "A member that owns no queue.",
        columns=("group_status.idle_members",),
    ),
    Term(
        "in flight",
        "Messages that a client has pulled but not committed yet: pull offset minus consumer offset.",
        ("OffsetWrapper.pullOffset",),
        ("offset_snapshots.offsets",),
    ),
    Term(
        "incident",
        "One event from its beginning to its end: root findings with all their consequences, over steps and groups.",
        columns=("findings.root_finding_id",),
    ),
    Term(
        "lag",
        "The messages of one queue that a group has not consumed yet: broker offset minus consumer offset.",
        ("OffsetWrapper",),
        ("queue_progress.lag_last",),
    ),
    Term(
        "limit",
        "What kept a group from consuming faster while its backlog grew.",
        columns=("group_status.limit",),
    ),
    Term(
        "listener",
        "The application's code that processes the messages of a consumer.",
        ("MessageListener",),
        ("client_snapshots.consume_status",),
    ),
    Term(
        "look-back",
        "The time before an audit step whose snapshots the step reads as well.",
    ),
    Term(
        "member",
        "A connection of a consumer group, as the brokers list it.",
        ("ConsumerConnection.connectionSet",),
        ("rebalance_intervals.members",),
    ),
    Term(
        "membership view",
        "The list of members that one broker gives, or * where all brokers of the topic list the same members.",
        ("GetConsumerListByGroupResponseBody",),
        ("rebalance_intervals.membership_view",),
    ),
    Term(
        "message request mode",
        "Whether the broker lets the members of a group pull a topic's queues or pop from them.",
        ("MessageRequestMode",),
        ("membership_snapshots.request_modes",),
    ),
    Term(
        "orderly consumer",
        "A consumer that processes each queue in order, and needs the broker's lock on the queue.",
        ("MessageListenerOrderly", "RebalanceLockManager"),
        ("client_snapshots.consume_orderly",),
    ),
    Term(
        "owner",
        "A member whose share contains the queue; normally a queue has exactly one owner.",
        ("ProcessQueue",),
        ("allocations.owners",),
    ),
    Term(
        "pace",
        "The messages per second that a member was seen to consume while it had a backlog.",
    ),
    Term(
        "POP",
        "The broker hands out messages one by one, and members own no queue exclusively.",
        ("MessageRequestMode.POP",),
        ("membership_snapshots.request_modes",),
    ),
    Term(
        "POP retry topic",
        "The topic %RETRY%<group>_<topic> (or + for _) of messages that were popped and not acknowledged in time.",
        ("KeyBuilder.buildPopRetryTopic", "popInvisibleTime"),
        ("offset_snapshots.topic",),
    ),
    Term(
        "position",
        "The place of a connection in the sorted list of client ids, from 0; it decides the member's share.",
        ("AllocateMessageQueueStrategy",),
        ("rebalance_intervals.members",),
    ),
    Term(
        "proxy",
        "A RocketMQ 5 process that clients connect to instead of brokers; brokers do not list these clients.",
        ("CID_DefaultHeartBeatSyncerTopic",),
        ("rebalance_intervals.reason",),
    ),
    Term(
        "quarantine",
        "The table of input lines and source rows that break a rule and are not audited.",
        columns=("quarantine",),
    ),
    Term(
        "queue",
        "One of the numbered parts of a topic on a broker, written as broker:id.",
        ("MessageQueue",),
        ("allocations.queue_id",),
    ),
    Term(
        "reading",
        "The offsets of a queue in one snapshot.",
        ("OffsetWrapper",),
        ("queue_progress.readings",),
    ),
    Term(
        "rebalance",
        "The members compute their allocation again, because members, queues, subscriptions or the strategy changed.",
        ("RebalanceService", "RebalanceImpl"),
        ("rebalance_intervals.trigger",),
    ),
    Term(
        "rebalance interval",
        "A span of time in one audit step during which members, readable queues and strategy do not change.",
        columns=("rebalance_intervals",),
    ),
    Term(
        "recorder",
        "The program that takes the snapshots: rebalance-audit capture, or one of your own.",
        columns=("capture_calls",),
    ),
    Term(
        "replay",
        "To compute from the snapshots what each member computed in its rebalance, and so who owned which queue.",
        columns=("rebalance_intervals.status",),
    ),
    Term(
        "retry topic",
        "The topic %RETRY%<group>, through which messages are delivered again after a failure.",
        ("MixAll.RETRY_GROUP_TOPIC_PREFIX",),
    ),
    Term(
        "revive",
        "To put popped messages that nobody acknowledged in time into the POP retry topic; brokers do it.",
        ("PopReviveService", "rmq_sys_REVIVE_LOG_<cluster>"),
        ("offset_snapshots.topic",),
    ),
    Term(
        "root",
        "A finding that no other finding has caused.",
        columns=("findings.root_finding_id",),
    ),
    Term(
        "route",
        "The brokers of a topic, with their numbers of queues and permissions, as name servers report them.",
        ("TopicRouteData", "QueueData"),
        ("route_snapshots.queues",),
    ),
    Term(
        "severity",
        "ERROR: harm; WARN: waste, or by design; INFO: it ends by itself, or no message was affected.",
        columns=("findings.severity",),
    ),
    Term(
        "share",
        "The queues that the allocation strategy gives to one position.",
        ("AllocateMessageQueueStrategy",),
        ("group_status.busiest_share",),
    ),
    Term(
        "snapshot",
        "One recorded answer of a broker, name server or client, with its time.",
        columns=("membership_snapshots.captured_at",),
    ),
    Term(
        "subscription",
        "A topic that a consumer subscribes to, with the tags or SQL expression that select its messages.",
        ("SubscriptionData",),
        ("client_snapshots.subscriptions",),
    ),
    Term(
        "topic",
        "A named stream of messages, divided into queues on one or more brokers.",
        ("TopicConfig",),
        ("topic_snapshots",),
    ),
    Term(
        "trigger",
        "What began a rebalance interval, such as a member that joined.",
        columns=("rebalance_intervals.trigger",),
    ),
    Term(
        "unassigned queue",
        "A queue that no member owns, so nobody consumes its messages.",
        columns=("allocations.unassigned_cause",),
    ),
    Term(
        "unobserved",
        "Time without snapshots: what happened then is unknown.",
        columns=("rebalance_intervals.status",),
    ),
    Term(
        "utilisation",
        "The messages produced, as a part of what the members can consume with their threads and pulls.",
        columns=("group_status.utilisation",),
    ),
    Term(
        "verdict",
        "Whether a queue makes progress, judged over a window of readings: OK, WARN, STALL, STOP or REWIND.",
        columns=("queue_progress.verdict",),
    ),
)
