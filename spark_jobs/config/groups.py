"""Which settings a group has, when several entries of the configuration match it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

from spark_jobs.config.model import Configuration, GroupEntry, QueueList
from spark_jobs.domain.model.mutes import Mute
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, StrategySettings


@dataclass(frozen=True)
class GroupSettings:
    """The effective settings of one group; None is "not configured"."""

    strategy: str | None = None
    virtual_node_count: int = 10
    rooms: tuple[str, ...] | None = None
    broker_room: str | None = None
    client_room: str | None = None
    config_queues: tuple[QueueList, ...] = ()


def settings_for(configuration: Configuration, cluster: str, group: str) -> GroupSettings:
    """Settings of one group: defaults < entries without `group` < entries with `group`.

    Among equals the later entry wins, field by field; a list replaces a list.
    """
    settings: dict[str, Any] = {}
    for entry in _entries(configuration, cluster, group):
        settings |= {name: value for name in _NAMES if (value := getattr(entry, name)) is not None}
    return GroupSettings(**settings)


def audit_settings(configuration: Configuration, cluster: str, group: str) -> AuditSettings:
    """What is configured of one group's audit, as the kernel takes it: thresholds by the precedence of `settings_for`,
    one by one; mutes in the order of the file.
    """
    thresholds: dict[str, Any] = configuration.thresholds.model_dump()
    for entry in _entries(configuration, cluster, group):
        thresholds |= entry.thresholds
    mutes = (
        Mute(one.rule, to_micros(one.until) if one.until else None, one.reason)
        for one in configuration.mutes
        if re.fullmatch(one.cluster, cluster) and re.fullmatch(one.group, group)
    )
    settings = configuration.audit_settings
    return replace(settings, thresholds=Thresholds(**thresholds), mutes=tuple(mutes))


def strategy_settings(configuration: Configuration, cluster: str, group: str) -> StrategySettings:
    """What is configured of a group's strategy, as the kernel takes it."""
    found = settings_for(configuration, cluster, group)
    return StrategySettings(
        strategy=found.strategy,
        virtual_node_cnt=found.virtual_node_count,
        rooms=None if found.rooms is None else frozenset(found.rooms),
        broker_room=found.broker_room,
        client_room=found.client_room,
        config_queues=tuple(ConfigQueues(one.client, one.topic, one.broker, one.queues) for one in found.config_queues),
    )


_NAMES = tuple(field.name for field in fields(GroupSettings))


def _entries(configuration: Configuration, cluster: str, group: str) -> list[GroupEntry]:
    """Those that match, the weakest first."""
    matching = (entry for entry in configuration.groups if _matches(entry, cluster, group))
    return sorted(matching, key=lambda entry: entry.group is not None)


def _matches(entry: GroupEntry, cluster: str, group: str) -> bool:
    return bool(re.fullmatch(entry.cluster, cluster)) and (
        entry.group is None or bool(re.fullmatch(entry.group, group))
    )
