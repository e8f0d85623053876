"""Which settings a group has, when several entries of the configuration match it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from spark_jobs.config.model import Configuration, GroupEntry
from spark_jobs.domain.model.mutes import Mute
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import AuditSettings, to_micros
from spark_jobs.domain.rocketmq.strategies import ConfigQueues, StrategySettings


def audit_settings(configuration: Configuration, cluster: str, group: str) -> AuditSettings:
    """What is configured of one group's audit: thresholds by the precedence of `strategy_settings`, one by one; mutes
    in the order of the file.
    """
    thresholds: dict[str, Any] = configuration.thresholds.model_dump()
    for entry in _entries(configuration, cluster, group):
        thresholds |= entry.thresholds
    mutes = (
        Mute(mute.rule, to_micros(mute.until) if mute.until else None, mute.reason)
        for mute in configuration.mutes
        if re.fullmatch(mute.cluster, cluster) and re.fullmatch(mute.group, group)
    )
    settings = configuration.audit_settings
    return replace(settings, thresholds=Thresholds(**thresholds), mutes=tuple(mutes))


def strategy_settings(configuration: Configuration, cluster: str, group: str) -> StrategySettings:
    """What is configured of a group's strategy: defaults < entries without `group` < entries with `group`.

    Among equals the later entry wins, field by field; a list replaces a list.
    """
    configured: dict[str, Any] = {}
    for entry in _entries(configuration, cluster, group):
        configured |= {name: value for name in _NAMES if (value := getattr(entry, name)) is not None}
    rooms, lists = configured.get("rooms"), configured.get("config_queues", ())
    return StrategySettings(
        strategy=configured.get("strategy"),
        virtual_node_cnt=configured.get("virtual_node_count", 10),
        rooms=None if rooms is None else frozenset(rooms),
        broker_room=configured.get("broker_room"),
        client_room=configured.get("client_room"),
        config_queues=tuple(ConfigQueues(one.client, one.topic, one.broker, one.queues) for one in lists),
    )


#: The keys of an entry that are about its groups' strategy.
_NAMES = ("strategy", "virtual_node_count", "rooms", "broker_room", "client_room", "config_queues")


def _entries(configuration: Configuration, cluster: str, group: str) -> list[GroupEntry]:
    """Those that match, the weakest first."""
    matching = (entry for entry in configuration.groups if _matches(entry, cluster, group))
    return sorted(matching, key=lambda entry: entry.group is not None)


def _matches(entry: GroupEntry, cluster: str, group: str) -> bool:
    return bool(re.fullmatch(entry.cluster, cluster)) and (
        entry.group is None or bool(re.fullmatch(entry.group, group))
    )
