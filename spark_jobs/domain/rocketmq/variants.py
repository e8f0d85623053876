"""Which implementation of its strategy a client runs: by language and version it may not be Java's of today.

Sources: apache/rocketmq-client-go `consumer/strategy.go`, alike in all releases that have these strategies;
apache/rocketmq `AllocateMessageQueueByMachineRoom`, corrected in 4.8.0 (#2477). C++ and Python have AVG only. Also the
releases of the Java client that changed what a rule looks at, as version ordinals (two a release).
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.domain.rocketmq.strategies import CONSISTENT_HASH, MACHINE_ROOM, Variant


class Implementation(NamedTuple):
    """How a client computes its share: the strategy's name, and which implementation of it."""

    strategy: str
    variant: Variant


def variant_of(strategy: str, language: str | None, version: int | None) -> Variant:
    """By what the broker lists of the connection. Where language or version is unknown, or the language ships no such
    strategy, it is Java's of today.
    """
    if strategy not in (CONSISTENT_HASH, MACHINE_ROOM):
        return Variant.JAVA
    if language == "GO":
        return Variant.GO
    is_old = language == "JAVA" and version is not None and version <= LAST_VERSION_WITH_ROOM_BUG
    return Variant.JAVA_TO_4_7_1 if is_old and strategy == MACHINE_ROOM else Variant.JAVA


#: 4.9.0, since which a client's default instance name is `PID#nanoTime` (`ClientConfig.changeInstanceNameToPID`).
UNIQUE_INSTANCE_NAME_VERSION = 393
#: 4.7.1, the last one with the index bug of MACHINE_ROOM (`AllocateMessageQueueByMachineRoom`).
LAST_VERSION_WITH_ROOM_BUG = 355
