"""Client ids that more than one connection of a group carries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.message_queue import sort_client_ids

#: The old channel of a client that reconnects lives up to 130 s (expiry 120 s, scan 10 s): no leftover
#: lasts longer.
PERSISTENT_AFTER = timedelta(seconds=150)
#: Version ordinal of RocketMQ 4.9.0, since which a Java client's default instance name is `PID#nanoTime`.
UNIQUE_INSTANCE_NAME_VERSION = 393


class DuplicateCause(StrEnum):
    """Probable reason why two connections carry one client id."""

    STALE_CONNECTION = "STALE_CONNECTION"
    CONTAINER_IDENTITY = "CONTAINER_IDENTITY"
    FIXED_INSTANCE_NAME = "FIXED_INSTANCE_NAME"
    CLONED_PROCESS = "CLONED_PROCESS"


class Connection(NamedTuple):
    """One of the connections that carry the id; `version` is RocketMQ's ordinal, None is unknown."""

    client_addr: str | None
    language: str | None
    version: int | None


def duplicate_ids(client_ids: Iterable[str]) -> list[str]:
    """The ids that are there more than once, each one time, sorted as clients sort them."""
    return sort_client_ids(client_id for client_id, count in Counter(client_ids).items() if count > 1)


def is_persistent(first_seen: datetime, last_seen: datetime, threshold: timedelta = PERSISTENT_AFTER) -> bool:
    """Whether a duplicate stood in two snapshots at least the threshold apart: no leftover of a reconnect."""
    return last_seen - first_seen >= threshold


def instance_name(client_id: str) -> str:
    """`instanceName` of `ip@instanceName[@unitName][@STREAM]`; empty if there is none."""
    return client_id.partition("@")[2].partition("@")[0]


def duplicate_cause(client_id: str, connections: Sequence[Connection], *, persistent: bool) -> DuplicateCause:
    """Probable cause, the first that fits.

    A short-lived twin from the same host is the old connection of a client that came back. A bare number
    is the PID (C++ and Python clients add `#DEFAULT`), and containers can have equal IP and PID, unless all
    clients are Java clients that no longer use it. `PID#nanoTime` cannot meet twice unless the process was
    cloned. Anything else was set by somebody. Source of the names: Java `ClientConfig.changeInstanceNameToPID`.
    """
    name = instance_name(client_id)
    if not persistent and _from_one_host(connections):
        return DuplicateCause.STALE_CONNECTION
    if re.fullmatch("[0-9]+(#DEFAULT)?", name) and any(_names_itself_by_pid(connection) for connection in connections):
        return DuplicateCause.CONTAINER_IDENTITY
    if re.fullmatch("[0-9]+#[0-9]+", name):
        return DuplicateCause.CLONED_PROCESS
    return DuplicateCause.FIXED_INSTANCE_NAME


def _from_one_host(connections: Sequence[Connection]) -> bool:
    hosts = {(connection.client_addr or "").rpartition(":")[0] for connection in connections}
    return len(hosts) == 1 and "" not in hosts


def _names_itself_by_pid(connection: Connection) -> bool:
    return (
        connection.language != "JAVA" or connection.version is None or connection.version < UNIQUE_INSTANCE_NAME_VERSION
    )
