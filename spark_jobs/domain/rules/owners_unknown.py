"""MEMBERS_UNSEEN, STRATEGY_UNKNOWN and TOPIC_MISSING: why an interval has no known owners."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import implementations
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO, WARN
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, WITHOUT_ROUTE, Reason
from spark_jobs.domain.model.window import common
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rocketmq.strategies import (
    CONFIG,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    UNKNOWN_STRATEGY,
    Implementation,
    StrategySettings,
)
from spark_jobs.domain.rules.rule import Cause, Rule

CUSTOM_STRATEGY, ROOMS_MISSING = "CUSTOM_STRATEGY", "ROOMS_MISSING"
AS_REPORTED, NO_BROKER = "AS_REPORTED", "NO_BROKER"
ROOM_PATTERNS_MISSING, QUEUE_LISTS_MISSING = "ROOM_PATTERNS_MISSING", "QUEUE_LISTS_MISSING"
_REASONS = (Reason.UNKNOWN_STRATEGY, Reason.SETTINGS_MISSING)
_CAUSES = {
    UNKNOWN_STRATEGY: CUSTOM_STRATEGY,
    MACHINE_ROOM: ROOMS_MISSING,
    MACHINE_ROOM_NEARBY: ROOM_PATTERNS_MISSING,
    CONFIG: QUEUE_LISTS_MISSING,
}


def _unseen_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval of an ordinary topic that an unseen client consumes; one condition per group and cause."""
    for interval in step.intervals:
        if interval.is_ordinary and interval.reason in CONSUMED_UNSEEN:
            yield RuleHit(interval.start, interval.end, interval.reason)


def _unknown_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval of an ordinary topic, setting that is missing); one condition per group and setting."""
    settings = step.replays.settings if step.replays else StrategySettings()
    for interval in step.intervals:
        if interval.is_ordinary and (interval.reason in _REASONS or interval.allocation is not None):
            in_use = implementations(interval.members or ())
            for cause in dict.fromkeys(filter(None, (_missing(each, settings) for each in in_use))):
                yield RuleHit(interval.start, interval.end, cause, hint=_reported(step, interval))


def _reported(step: AuditedStep, interval: RebalanceInterval) -> str | None:
    """A sentence: the classes of strategies that members report in the interval."""
    clients = (step.history.clients.get(member.client_id) for member in interval.members or ())
    states = (run.state for client in clients if client for run in client.series.runs(interval.start, interval.end))
    classes = sorted({state.strategy_class.rpartition(".")[2] for state in states if state.strategy_class})
    return f"Clients report {names_text(classes)}." if classes else None


def _missing(implementation: Implementation, settings: StrategySettings) -> str | None:
    name = implementation.strategy
    if name == UNKNOWN_STRATEGY:
        return CUSTOM_STRATEGY if implementation.parameters.holders is None else AS_REPORTED
    is_missing = settings.named(*implementation).settings_missing
    return _CAUSES[name.partition("-")[0]] if is_missing else None


def _missing_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval of an ordinary topic that never had a route, while the name server gave that of another one, and
    a connected member subscribes to it.
    """
    routed = {interval.topic for interval in step.intervals if interval.reason not in WITHOUT_ROUTE}
    has_another = any(interval.is_ordinary for interval in step.intervals if interval.topic in routed)
    for interval in step.intervals:
        is_missing = interval.is_ordinary and interval.reason is Reason.NO_ROUTE and interval.topic not in routed
        time = interval.start, interval.end
        during = (span.state for span in step.membership_spans if routed and is_missing and common(span.time, time))
        if any(state.connections and interval.topic in state.topics for state in during):
            yield RuleHit(*time, NO_BROKER, interval.topic, severity=INFO if has_another else WARN)


MEMBERS_UNSEEN = Rule(
    name="MEMBERS_UNSEEN",
    headline="No broker lists the consumers of {groups}, and it is not offline",
    meaning="No broker lists a member, but the group is not offline. Clients of a cluster-mode proxy register with "
    "the proxy only. Owners are unknown; lag and verdicts are not. INFO.",
    decided_by="A recorded proxy lists a member, or committed offsets advance in two rounds of the recorder. If "
    "messages are produced and no offset advances for `stalled_after_seconds`, the group is offline.",
    causes={
        Reason.CONSUMED_THROUGH_PROXY: Cause(
            "the cluster has a proxy",
            "Members behind a proxy pop, so their queues have no owners. If no member is known, record the group's "
            "consumer connections also from every proxy, on its remoting port. The proxies are the connections of "
            "CID_DefaultHeartBeatSyncerTopic.",
        ),
        Reason.CONSUMED_BY_UNSEEN: Cause(
            "no proxy is known",
            "An unknown consumer commits offsets. Record the connections of every broker, and of "
            "CID_DefaultHeartBeatSyncerTopic, whose connections are the proxies.",
        ),
    },
    evaluate=_unseen_hits,
    hit_severity=INFO,
    lasts="settled_seconds",
)
STRATEGY_UNKNOWN = Rule(
    name="STRATEGY_UNKNOWN",
    headline="The strategy of {groups} is not known, or lacks a setting",
    meaning="A strategy cannot be replayed without a setting that clients do not report. The owners are unknown, or "
    "those that the clients report (`AS_REPORTED`).",
    decided_by="An interval is SETTINGS_MISSING or UNKNOWN_STRATEGY, or replayed without a strategy. INFO.",
    causes={
        ROOMS_MISSING: Cause(
            "MACHINE_ROOM without `rooms`",
            "Configure `rooms` of the group: what the consumer's code gives to "
            "AllocateMessageQueueByMachineRoom.setConsumeridcs.",
        ),
        ROOM_PATTERNS_MISSING: Cause(
            "MACHINE_ROOM_NEARBY without its inner strategy, `broker_room` or `client_room`",
            "Configure `strategy` of the group as MACHINE_ROOM_NEARBY-AVG (or another inner strategy), and "
            "`broker_room` and `client_room`: patterns of what the consumer's MachineRoomResolver takes from a "
            "broker's name and a client id.",
        ),
        QUEUE_LISTS_MISSING: Cause(
            "CONFIG without `config_queues`",
            "Configure `config_queues` of the group: what the consumer's code gives to "
            "AllocateMessageQueueByConfig.setMessageQueueList, per client, topic and broker.",
        ),
        AS_REPORTED: Cause(
            "members report disjoint queues that no known strategy explains",
            "Configure `strategy` of the group and its settings (`virtual_node_count`, `broker_room` and "
            "`client_room`, `config_queues`). Until then, drift is not found, and `what-if` cannot change the "
            "members.",
        ),
        CUSTOM_STRATEGY: Cause(
            "a class that is none of RocketMQ's, or reported queues that no strategy explains",
            "Configure `strategy` of the group: RocketMQ's strategy that divides queues as this class does. Java "
            "clients name the class in their running info.",
        ),
    },
    evaluate=_unknown_hits,
    hit_severity=INFO,
    lasts=0,
)
TOPIC_MISSING = Rule(
    name="TOPIC_MISSING",
    headline="Consumers of {groups} subscribe to {topics}, which no broker has",
    meaning="Members subscribe to a topic of which the name server knows no broker, so they get nothing of it. WARN; "
    "INFO if the group also has a topic that exists: the subscription may be left over.",
    decided_by="For `verdict_window_seconds` (300) the topic has no route, nor had it one before in the step or its "
    "look-back, while another topic of the group, or its retry topic, has one.",
    causes={
        NO_BROKER: Cause(
            "always",
            "Look for the topic's name among those of the cluster (`mqadmin topicList`): it may be misspelt, lack its "
            "namespace, or be on another cluster. Create the topic, or correct the subscription.",
        )
    },
    evaluate=_missing_hits,
    lasts="verdict_window_seconds",
)
