"""STRATEGY_UNKNOWN: a group's strategy, or one of its settings, is not known, so shares cannot be replayed."""

from collections.abc import Iterator

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import implementations
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import Reason
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
AS_REPORTED = "AS_REPORTED"
ROOM_PATTERNS_MISSING, QUEUE_LISTS_MISSING = "ROOM_PATTERNS_MISSING", "QUEUE_LISTS_MISSING"
_REASONS = (Reason.UNKNOWN_STRATEGY, Reason.SETTINGS_MISSING)
_CAUSES = {
    UNKNOWN_STRATEGY: CUSTOM_STRATEGY,
    MACHINE_ROOM: ROOMS_MISSING,
    MACHINE_ROOM_NEARBY: ROOM_PATTERNS_MISSING,
    CONFIG: QUEUE_LISTS_MISSING,
}


def hits(step: AuditedStep) -> Iterator[RuleHit]:
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


RULE = Rule(
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
    evaluate=hits,
    hit_severity=INFO,
    lasts=0,
)
