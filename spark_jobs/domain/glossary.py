"""The terms that messages, advice, help and pages use, each with one meaning; docs/glossary.md is made from them."""

from __future__ import annotations

import re
from typing import NamedTuple


class Term(NamedTuple):
    """One term: a sentence, the classes or settings of RocketMQ that hold it, and `table` or `table.column` here."""

    name: str
    meaning: str
    rocketmq: tuple[str, ...]
    columns: tuple[str, ...]


#: In alphabetical order: `name: meaning`, and below it its names in RocketMQ `|` its tables and columns.
_TERMS = """
allocation: The division of a topic's queues among the members of a consumer group: which member owns which queue.
    RebalanceImpl | allocations
allocation strategy: The rule by which each member computes its share from the sorted client ids and queues, \
such as AVG.
    AllocateMessageQueueStrategy | rebalance_intervals.strategy
audit step: A fixed span of time, one hour by default, that is audited and published as a whole.
    | findings.step_start
backlog: The messages that a group has not consumed yet: the sum of the lag of its queues.
    ConsumeStats.computeTotalDiff | group_status.backlog_end
broker offset: The offset that the next message written to a queue will get.
    OffsetWrapper.brokerOffset | offset_snapshots.offsets
cadence: The time between two snapshots of the same thing, 20 seconds by default.
    | membership_snapshots.captured_at
catch-up time: How long until the last queue of a group has no lag, at the pace of its last readings.
    | group_status.catch_up_seconds
cause: Why a finding exists, as one of the causes of its rule.
    | findings.cause
client id: The name by which brokers know a client, ip@instanceName; every consumer of a group needs one of its own.
    ClientConfig.buildMQClientId | client_snapshots.client_id
client snapshot: What one client reported about itself: its queues, strategy, threads and response times.
    ConsumerRunningInfo | client_snapshots
connection: One entry in a broker's list of the clients of a group; clients that share a client id have one each.
    ConsumerConnection.connectionSet | membership_snapshots.connections
consequence: A finding that another one, its root, has caused.
    | findings.root_finding_id
consumer: A client that consumes messages as a member of a consumer group.
    DefaultMQPushConsumer DefaultMQPullConsumer | client_snapshots
consumer group: Consumers with the same group name, which share the queues of their topics.
    MQConsumerInner.groupName | group_status.consumer_group
consumer offset: The offset of the next message that a group will consume from a queue, as committed to the broker.
    OffsetWrapper.consumerOffset | queue_progress.consumer_offset
dead-letter topic: The topic %DLQ%<group>, which receives messages whose delivery failed too often.
    MixAll.DLQ_GROUP_TOPIC_PREFIX |
duplicate client id: A client id that several connections of a group share, so all of them consume the same queues.
    ClientConfig.buildMQClientId | rebalance_intervals.distinct_members
finding: One condition that a rule reports, over its whole duration inside an audit step.
    | findings
flow control: A client stops pulling from a queue while it has cached too many of its messages.
    pullThresholdForQueue pullThresholdSizeForQueue consumeConcurrentlyMaxSpan | client_snapshots.owned_queues
headroom: How many more messages per second could be produced before the first member falls behind.
    | group_status.headroom
heartbeat: The message that a client sends to every broker about every 30 seconds, with its groups and subscriptions.
    HeartbeatData |
idle member: A member that owns no queue.
    | group_status.idle_members
in flight: Messages that a client has pulled but not committed yet: pull offset minus consumer offset.
    OffsetWrapper.pullOffset | offset_snapshots.offsets
incident: One event from its beginning to its end: root findings with all their consequences, over steps and groups.
    | findings.root_finding_id
lag: The messages of one queue that a group has not consumed yet: broker offset minus consumer offset.
    OffsetWrapper | queue_progress.lag_last
limit: What kept a group from consuming faster while its backlog grew.
    | group_status.limit
listener: The application's code that processes the messages of a consumer.
    MessageListener | client_snapshots.consume_status
look-back: The time before an audit step whose snapshots the step reads as well.
member: A connection of a consumer group, as the brokers list it.
    ConsumerConnection.connectionSet | rebalance_intervals.members
membership view: The list of members that one broker gives, or * where all brokers of the topic list the same members.
    GetConsumerListByGroupResponseBody | rebalance_intervals.membership_view
message request mode: Whether the broker lets the members of a group pull a topic's queues or pop from them.
    MessageRequestMode | membership_snapshots.request_modes
orderly consumer: A consumer that processes each queue in order, and needs the broker's lock on the queue.
    MessageListenerOrderly RebalanceLockManager | client_snapshots.consume_orderly
owner: A member whose share contains the queue; normally a queue has exactly one owner.
    ProcessQueue | allocations.owners
pace: The messages per second that a member was seen to consume while it had a backlog.
POP: The broker hands out messages one by one, and members own no queue exclusively.
    MessageRequestMode.POP | membership_snapshots.request_modes
POP retry topic: The topic %RETRY%<group>_<topic> (or + for _) of messages that were popped and not \
acknowledged in time.
    KeyBuilder.buildPopRetryTopic popInvisibleTime | offset_snapshots.topic
position: The place of a connection in the sorted list of client ids, from 0; it decides the member's share.
    AllocateMessageQueueStrategy | rebalance_intervals.members
proxy: A RocketMQ 5 process that clients connect to instead of brokers; brokers do not list these clients.
    CID_DefaultHeartBeatSyncerTopic | rebalance_intervals.reason
quarantine: The table of input lines and source rows that break a rule and are not audited.
    | quarantine
queue: One of the numbered parts of a topic on a broker, written as broker:id.
    MessageQueue | allocations.queue_id
reading: The offsets of a queue in one snapshot.
    OffsetWrapper | queue_progress.readings
rebalance: The members compute their allocation again, because members, queues, subscriptions or the strategy changed.
    RebalanceService RebalanceImpl | rebalance_intervals.trigger
rebalance interval: A span of time in one audit step during which members, readable queues and strategy do not change.
    | rebalance_intervals
recorder: The program that takes the snapshots: rebalance-audit capture, or one of your own.
    | capture_calls
replay: To compute from the snapshots what each member computed in its rebalance, and so who owned which queue.
    | rebalance_intervals.status
retry topic: The topic %RETRY%<group>, through which messages are delivered again after a failure.
    MixAll.RETRY_GROUP_TOPIC_PREFIX |
revive: To put popped messages that nobody acknowledged in time into the POP retry topic; brokers do it.
    PopReviveService rmq_sys_REVIVE_LOG_<cluster> | offset_snapshots.topic
root: A finding that no other finding has caused.
    | findings.root_finding_id
route: The brokers of a topic, with their numbers of queues and permissions, as name servers report them.
    TopicRouteData QueueData | route_snapshots.queues
severity: ERROR: harm; WARN: waste, or by design; INFO: it ends by itself, or no message was affected.
    | findings.severity
share: The queues that the allocation strategy gives to one position.
    AllocateMessageQueueStrategy | group_status.busiest_share
snapshot: One recorded answer of a broker, name server or client, with its time.
    | membership_snapshots.captured_at
subscription: A topic that a consumer subscribes to, with the tags or SQL expression that select its messages.
    SubscriptionData | client_snapshots.subscriptions
topic: A named stream of messages, divided into queues on one or more brokers.
    TopicConfig | topic_snapshots
trigger: What began a rebalance interval, such as a member that joined.
    | rebalance_intervals.trigger
unassigned queue: A queue that no member owns, so nobody consumes its messages.
    | allocations.unassigned_cause
unobserved: Time without snapshots: what happened then is unknown.
    | rebalance_intervals.status
utilisation: The messages produced, as a part of what the members can consume with their threads and pulls.
    | group_status.utilisation
verdict: Whether a queue makes progress, judged over a window of readings: OK, WARN, STALL, STOP or REWIND.
    | queue_progress.verdict
"""


def _term(entry: str) -> Term:
    sentence, _, where = entry.partition("\n")
    name, _, meaning = sentence.partition(": ")
    rocketmq, _, columns = where.partition("|")
    return Term(name, meaning, tuple(rocketmq.split()), tuple(columns.split()))


TERMS = tuple(map(_term, re.split(r"\n(?=\S)", _TERMS.strip())))
