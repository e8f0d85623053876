"""The terms that messages, advice, help and pages use, each with one meaning; docs/glossary.md is made from them."""

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
allocation: Which member of a consumer group owns which queue of a topic.
    RebalanceImpl | allocations
allocation strategy: The rule by which each member computes its queues, such as AVG.
    AllocateMessageQueueStrategy | rebalance_intervals.strategy
assigned queues: The queues that the allocation strategy gives to one index.
    AllocateMessageQueueStrategy | group_status.busiest_member_queues
audit step: A fixed span of time, one hour by default, that is audited and published as a whole.
    | findings.step_start
backlog: The messages that a group has not consumed yet: the lag of all its queues.
    ConsumeStats.computeTotalDiff | group_status.backlog_end
bottleneck: What kept a group from consuming faster while its backlog grew.
    | group_status.bottleneck
catch-up time: The time until no queue of a group has a lag, at its current pace.
    | group_status.catch_up_seconds
client id: The name by which brokers know a client, ip@instanceName; every consumer of a group needs its own.
    ClientConfig.buildMQClientId | client_snapshots.client_id
client snapshot: The report of one client about itself: queues, strategy, threads and response times.
    ConsumerRunningInfo | client_snapshots
collection interval: The time between two snapshots of the same thing, 20 seconds by default.
    | membership_snapshots.captured_at
connection: One entry in a broker's list of the clients of a group; duplicate client ids have several.
    ConsumerConnection.connectionSet | membership_snapshots.connections
duplicate client id: A client id of several connections of a group, which all consume the same queues.
    ClientConfig.buildMQClientId | rebalance_intervals.distinct_members
finding: One condition that a rule reports, over its whole duration inside an audit step.
    | findings
flow control: A client stops pulling from a queue while it has cached too many of its messages.
    pullThresholdForQueue pullThresholdSizeForQueue consumeConcurrentlyMaxSpan | client_snapshots.owned_queues
headroom: How many more messages per second the group can consume before a member falls behind.
    | group_status.headroom_messages_per_second
idle member: A member that owns no queue.
    | group_status.idle_members
in flight: Messages that a client has pulled but not committed: pull offset minus consumer offset.
    OffsetWrapper.pullOffset | offset_snapshots.offsets
incident: One event from beginning to end: root causes with their symptoms, over steps and groups.
    | findings.root_finding_id
index: The place of a connection in the sorted list of client ids, from 0.
    AllocateMessageQueueStrategy | rebalance_intervals.members
lag: The messages of one queue that a group has not consumed yet: broker offset minus consumer offset.
    OffsetWrapper | queue_progress.lag_last
look-back: The time before an audit step whose snapshots the step reads as well.
    |
member: A connection of a consumer group, as brokers list it.
    ConsumerConnection.connectionSet | rebalance_intervals.members
membership view: The members that one broker lists, or * if all brokers of the topic list the same.
    GetConsumerListByGroupResponseBody | rebalance_intervals.membership_view
message request mode: Whether members of a group pull a topic's queues or pop from them.
    MessageRequestMode | membership_snapshots.request_modes
owner: A member that consumes a queue; normally a queue has exactly one.
    ProcessQueue | allocations.owners
pace: The messages per second that a member consumes while it has a backlog.
    |
POP: The broker hands out messages one by one, and members own no queue exclusively.
    MessageRequestMode.POP | membership_snapshots.request_modes
POP retry topic: The topic %RETRY%<group>_<topic> (or + for _), for messages not acknowledged in time.
    KeyBuilder.buildPopRetryTopic popInvisibleTime | offset_snapshots.topic
proxy: A RocketMQ 5 process that clients connect to; brokers do not list these clients.
    CID_DefaultHeartBeatSyncerTopic | rebalance_intervals.reason
quarantine: The table of input lines and source rows that break a rule and are not audited.
    | quarantine
rebalance: All members compute the allocation again, because its inputs changed.
    RebalanceService RebalanceImpl | rebalance_intervals.trigger_type
rebalance interval: A span in a step during which members, readable queues and strategy stay the same.
    | rebalance_intervals
recorder: The program that takes the snapshots, such as rebalance-audit capture.
    | capture_calls
replay: To compute from the snapshots the allocation that each member computed.
    | rebalance_intervals.status
revive: To put messages that were popped and not acknowledged in time into the POP retry topic.
    PopReviveService rmq_sys_REVIVE_LOG_<cluster> | offset_snapshots.topic
root cause: A finding that no other finding has caused.
    | findings.root_finding_id
sample: The offsets of a queue in one snapshot.
    OffsetWrapper | queue_progress.readings
snapshot: One recorded answer of a broker, name server or client, with its time.
    | membership_snapshots.captured_at
symptom: A finding that another one, its root cause, has caused.
    | findings.root_finding_id
trigger: The reason why a rebalance interval began, such as a member that joined.
    | rebalance_intervals.trigger_type
unassigned queue: A queue without owner, whose messages are not consumed.
    | allocations.unassigned_cause
unobserved: Time without snapshots: what happened then is unknown.
    | rebalance_intervals.status
utilization: The messages produced, as a part of what the members can consume.
    | group_status.utilization
verdict: The progress of a queue over a window of samples: OK, WARN, STALL, STOP or REWIND.
    | queue_progress.verdict
"""


def _term(entry: str) -> Term:
    sentence, _, where = entry.partition("\n")
    name, _, meaning = sentence.partition(": ")
    rocketmq, _, columns = where.partition("|")
    return Term(name, meaning, tuple(rocketmq.split()), tuple(columns.split()))


TERMS = tuple(map(_term, re.split(r"\n(?=\S)", _TERMS.strip())))
