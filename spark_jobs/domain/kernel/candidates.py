"""The strategies that members may run of which it is not known."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from spark_jobs.domain.kernel.holdings import Holding
from spark_jobs.domain.rocketmq.allocation import machine_room
from spark_jobs.domain.rocketmq.strategies import (
    AS_CONFIGURED,
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    INNER_STRATEGIES,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    Parameters,
    Resolved,
    StrategySettings,
    StrategySource,
    Variant,
)

#: RocketMQ's default.
_VIRTUAL_NODES = 10
#: Of more rooms only all of them together are tried.
_MOST_ROOMS = 4


def candidates(
    reports: Iterable[Holding], named: Sequence[str], settings: StrategySettings, only: str | None = None
) -> list[Resolved]:
    """The strategies that members may run: those that clients report, then the simplest; `only`: of this name."""
    reported = {(name, AS_CONFIGURED) for name in named}
    tried = [(AVG, AS_CONFIGURED), (AVG_BY_CIRCLE, AS_CONFIGURED), (CONSISTENT_HASH, AS_CONFIGURED)]
    if settings.virtual_node_cnt != _VIRTUAL_NODES:
        tried.append((CONSISTENT_HASH, Parameters(virtual_node_cnt=_VIRTUAL_NODES)))
    tried.append((CONSISTENT_HASH, Parameters(variant=Variant.GO)))
    nearby = (f"{MACHINE_ROOM_NEARBY}-{inner}" for inner in INNER_STRATEGIES)
    needing = (MACHINE_ROOM, *nearby, CONFIG)
    tried += ((name, AS_CONFIGURED) for name in needing if not settings.named(name).settings_missing)
    tried += ((MACHINE_ROOM, Parameters(rooms=rooms)) for rooms in _rooms(reports))
    of_name = (
        Resolved(name, StrategySource.CLIENT if (name, parameters) in reported else StrategySource.OBSERVED, parameters)
        for name, parameters in tried
        if only in (None, name)
    )
    return sorted(of_name, key=lambda candidate: candidate.strategy not in named)


def _rooms(reports: Iterable[Holding]) -> Iterator[frozenset[str]]:
    """The sets of rooms that MACHINE_ROOM may be configured with, the larger first."""
    named = {machine_room(broker) for report in reports for broker, _ in report.queues}
    rooms = sorted(room for room in named if room is not None)
    sizes = range(len(rooms), 0, -1) if len(rooms) <= _MOST_ROOMS else (len(rooms),)
    for size in sizes:
        yield from map(frozenset, combinations(rooms, size))
