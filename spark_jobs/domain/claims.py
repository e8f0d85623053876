"""In whose shares each queue lies: once per implementation of a strategy that some member runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spark_jobs.domain.allocation import KeepsWhatItHad, queues_in_rooms
from spark_jobs.domain.audited_step import Member
from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.domain.pop import shares_of
from spark_jobs.domain.strategies import MACHINE_ROOM, StrategySettings, Variant
from spark_jobs.domain.variants import Implementation


class Claim(NamedTuple):
    """By this implementation, which some member runs, the queue lies in the share of this position."""

    by: Implementation
    position: int


def implementations(members: Iterable[Member]) -> tuple[Implementation, ...]:
    """What the members run, each once."""
    return tuple(dict.fromkeys(member.implementation for member in members))


def claims(members: Sequence[Member], queues: Sequence[MessageQueue], settings: StrategySettings) -> list[list[Claim]]:
    """Per readable queue, in whose shares it lies. A strategy that throws gives none: clients keep what they had."""
    client_ids = [member.client_id for member in members]
    found: list[list[Claim]] = [[] for _ in queues]
    for one in implementations(members):
        try:
            for share in shares_of(settings.named(*one), queues, client_ids):
                found[share.queue].append(Claim(one, share.position))
        except KeepsWhatItHad:
            continue
    return found


def in_rooms_in_vain(
    members: Iterable[Member], queues: Sequence[MessageQueue], settings: StrategySettings
) -> frozenset[int]:
    """Indexes of the queues of configured rooms, where members cut their shares of these rooms from the whole list."""
    run = (one for one in implementations(members) if one.strategy == MACHINE_ROOM and one.variant != Variant.JAVA)
    return frozenset(index for one in run for index in queues_in_rooms(settings.named(*one), queues))
