"""Members of one group that do not compute alike."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.duplicates import UNIQUE_INSTANCE_NAME_VERSION
from spark_jobs.domain.strategies import CONSISTENT_HASH, MACHINE_ROOM

#: Version ordinal of RocketMQ 4.7.1, the last one with the index bug of MACHINE_ROOM (two ordinals a release).
LAST_VERSION_WITH_ROOM_BUG = 355


class MixedClientsCause(StrEnum):
    """How the clients of a group differ; the first that applies."""

    DIFFERENT_RULES = "DIFFERENT_RULES"
    DIFFERENT_LANGUAGES = "DIFFERENT_LANGUAGES"
    DIFFERENT_INSTANCE_NAMES = "DIFFERENT_INSTANCE_NAMES"


class Client(NamedTuple):
    """A member's software; `version` is RocketMQ's ordinal. None is unknown."""

    language: str | None
    version: int | None
    strategy: str


def rules_of(client: Client) -> str | None:
    """Which implementation of its strategy a client runs, where there are several; None: unknown.

    Go's CONSISTENT_HASH is another one than Java's (CRC-32, other keys), and Go's MACHINE_ROOM still has the index bug
    that Java had up to 4.7.1 (`AllocateMachineRoomStrategy`).
    """
    if client.language is None:
        return None
    if client.strategy == CONSISTENT_HASH:
        return "GO" if client.language == "GO" else "JAVA"
    if client.strategy != MACHINE_ROOM:
        return "ALL"
    if client.language == "GO":
        return "OLD"
    if client.language == "JAVA" and client.version is None:
        return None
    old = client.language == "JAVA" and (client.version or 0) <= LAST_VERSION_WITH_ROOM_BUG
    return "OLD" if old else "NEW"


def mixed_clients(clients: Iterable[Client]) -> MixedClientsCause | None:
    """Whether clients differ so that it can matter; what is unknown of a client makes no difference."""
    known = list(clients)
    if len({rules_of(one) for one in known} - {None}) > 1 and len({one.strategy for one in known}) == 1:
        return MixedClientsCause.DIFFERENT_RULES
    if len({one.language for one in known} - {None}) > 1:
        return MixedClientsCause.DIFFERENT_LANGUAGES
    java = [one.version for one in known if one.language == "JAVA" and one.version is not None]
    if len({version < UNIQUE_INSTANCE_NAME_VERSION for version in java}) > 1:
        return MixedClientsCause.DIFFERENT_INSTANCE_NAMES
    return None


def mixed_strategies(clients: Iterable[Client]) -> bool:
    """Whether members run different strategies."""
    return len({one.strategy for one in clients}) > 1
