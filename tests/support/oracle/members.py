"""Known facts about a group's members: the strategy each one runs, and whose implementation of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spark_jobs.domain.rocketmq.strategies import AVG, MACHINE_ROOM_NEARBY, Variant, strategy_of_class
from tests.support.oracle.snapshots import ClientSnapshot, Software

#: Where a strategy's name comes from, the weakest first: the assumption that it is AVG, configuration, running info.
DEFAULT, CONFIGURATION, CLIENT = "DEFAULT", "CONFIGURATION", "CLIENT"


class Resolved(NamedTuple):
    """A member's strategy by name; None: its class is not RocketMQ's and nothing is configured."""

    strategy: str | None
    source: str


def known_at(clients: Iterable[ClientSnapshot], client_id: str, at: int) -> ClientSnapshot | None:
    """What a client last answered at or before the moment, else what it first answers after it."""
    answers = sorted(
        (snapshot for snapshot in clients if snapshot.client_id == client_id and snapshot.answered),
        key=lambda snapshot: snapshot.captured_at,
    )
    before = [snapshot for snapshot in answers if snapshot.captured_at <= at]
    return before[-1] if before else next(iter(answers), None)


def resolve_strategies(
    classes: Sequence[str | None], configured: str | None, group: Sequence[str | None] = ()
) -> list[Resolved]:
    """One per member, given the Java class it is known to run: its own, else configured, else that of others.

    What others run is the most frequent strategy of the view, else of the `group`, its clients that are not in the
    view, too (of equals the smallest name); if nobody's is known, AVG.
    """
    own = [_own_strategy(class_name, configured) if class_name is not None else None for class_name in classes]
    others = [_own_strategy(class_name, configured) for class_name in group if class_name is not None]
    fallback = _fallback(_names(own) or _names(others), configured)
    return [resolution or fallback for resolution in own]


def _names(resolved: Iterable[Resolved | None]) -> list[str]:
    return [resolution.strategy for resolution in resolved if resolution and resolution.strategy]


def group_source(resolved: Sequence[Resolved], configured: str | None) -> str:
    """The weakest source among the members."""
    sources = {resolution.source for resolution in resolved} or {CONFIGURATION if configured else DEFAULT}
    return next(source for source in (DEFAULT, CONFIGURATION, CLIENT) if source in sources)


def variant_of(strategy: str, software: Software) -> Variant:
    """Go's own ones, and those of Java up to 4.7.1, the version 355; who is not known to run them runs today's."""
    language, version = software
    if strategy == "CONSISTENT_HASH":
        return Variant.GO if language == "GO" else Variant.JAVA
    if strategy.startswith(MACHINE_ROOM_NEARBY):
        return Variant.GO if language == "GO" else Variant.JAVA
    if strategy == "MACHINE_ROOM":
        old = Variant.JAVA_TO_4_7_1 if (version or 1000) < 356 else Variant.JAVA
        return {"GO": Variant.GO, "JAVA": old}.get(language or "", Variant.JAVA)
    return Variant.JAVA


def _own_strategy(class_name: str, configured: str | None) -> Resolved:
    """By its class; a class of the user's own, and what is inside NEARBY, only the configuration knows."""
    name = strategy_of_class(class_name)
    if name is None:
        return Resolved(configured, CONFIGURATION)
    if name == MACHINE_ROOM_NEARBY and (configured or "").partition("-")[0] == MACHINE_ROOM_NEARBY:
        return Resolved(configured, CONFIGURATION)
    return Resolved(name, CLIENT)


def _fallback(known_names: Sequence[str], configured: str | None) -> Resolved:
    if configured:
        return Resolved(configured, CONFIGURATION)
    if not known_names:
        return Resolved(AVG, DEFAULT)
    counts = Counter(known_names)
    return Resolved(min(counts, key=lambda name: (-counts[name], name)), CLIENT)
