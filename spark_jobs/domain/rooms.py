"""Machine rooms: RocketMQ's own `room@broker` names, and rooms that a pattern finds in names."""

from __future__ import annotations

import re

from spark_jobs.domain.strategies import Variant


def java_split(text: str, separator: str) -> list[str]:
    """Parts as Java's `String.split` gives them: without trailing empty ones, unless nothing was split."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def machine_room(broker_name: str, variant: Variant = Variant.JAVA) -> str | None:
    """Room of MACHINE_ROOM: what precedes the `@` of a name of two parts (it may be empty), else None.

    Go keeps trailing empty parts: `room@` has two for it, and `room@broker@` three.
    """
    parts = broker_name.split("@") if variant == Variant.GO else java_split(broker_name, "@")
    return parts[0] if len(parts) == 2 else None


def room_of(pattern: str, name: str) -> str | None:
    """Room of MACHINE_ROOM_NEARBY: the pattern's group where it is first found; None if absent or empty."""
    match = re.search(pattern, name)
    return (match.group(1) or None) if match else None
