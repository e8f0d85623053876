"""What is known of a group's members: the strategy each one runs, and whether it subscribes the topic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.snapshots import ClientSnapshot
from spark_jobs.domain.strategies import AVG, MACHINE_ROOM_NEARBY, Strategy, strategy_of_class


class StrategySource(StrEnum):
    """Where a strategy's name comes from: running info, configuration, or the assumption that it is AVG."""

    CLIENT = "CLIENT"
    CONFIGURATION = "CONFIGURATION"
    DEFAULT = "DEFAULT"


class Resolved(NamedTuple):
    """A member's strategy; None: its class is not RocketMQ's and nothing is configured."""

    strategy: Strategy | None
    source: StrategySource


def known_at(clients: Iterable[ClientSnapshot], client_id: str, at: datetime) -> ClientSnapshot | None:
    """What a client last answered at or before the moment, else what it first answers after it."""
    answers = sorted(
        (one for one in clients if one.client_id == client_id and one.answered),
        key=lambda one: one.captured_at,
    )
    before = [one for one in answers if one.captured_at <= at]
    return before[-1] if before else next(iter(answers), None)


def strategy_named(name: str, configured: Strategy | None) -> Strategy:
    """A strategy by its name, with the settings that the configuration gives for the group."""
    return replace(configured, name=name) if configured else Strategy(name)


def resolve_strategies(classes: Sequence[str | None], configured: Strategy | None) -> list[Resolved]:
    """One per member, given the Java class it is known to run: its own, else configured, else that of others.

    What others run is the most frequent strategy of the view (of equals the smallest name); if nobody's is
    known, AVG.
    """
    own = [_own_strategy(class_name, configured) if class_name is not None else None for class_name in classes]
    fallback = _fallback([one.strategy.name for one in own if one and one.strategy], configured)
    return [one or fallback for one in own]


def group_source(resolved: Sequence[Resolved], configured: Strategy | None) -> StrategySource:
    """The weakest source among the members: DEFAULT, then CONFIGURATION, then CLIENT."""
    sources = {one.source for one in resolved}
    if not sources:
        return StrategySource.CONFIGURATION if configured else StrategySource.DEFAULT
    weakest_first = (StrategySource.DEFAULT, StrategySource.CONFIGURATION, StrategySource.CLIENT)
    return next(source for source in weakest_first if source in sources)


def _own_strategy(class_name: str, configured: Strategy | None) -> Resolved:
    """By its class; a class of the user's own, and what is inside NEARBY, only the configuration knows."""
    name = strategy_of_class(class_name)
    if name is None:
        return Resolved(configured, StrategySource.CONFIGURATION)
    if name == MACHINE_ROOM_NEARBY and configured and configured.base == MACHINE_ROOM_NEARBY:
        return Resolved(configured, StrategySource.CONFIGURATION)
    return Resolved(strategy_named(name, configured), StrategySource.CLIENT)


def _fallback(known_names: Sequence[str], configured: Strategy | None) -> Resolved:
    if configured:
        return Resolved(configured, StrategySource.CONFIGURATION)
    if not known_names:
        return Resolved(Strategy(AVG), StrategySource.DEFAULT)
    counts = Counter(known_names)
    return Resolved(Strategy(min(counts, key=lambda name: (-counts[name], name))), StrategySource.CLIENT)
