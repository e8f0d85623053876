"""What clients say of how they consume: rows of `client_snapshots`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.snapshots import at

#: What RocketMQ's Java client sets by itself, but for its 20 threads.
DEFAULTS: dict[str, Any] = {
    "consume_threads": 1,
    "consume_batch_size": 1,
    "pull_batch_size": 32,
    "pull_interval_ms": 0,
    "consume_orderly": False,
}


def client_row(
    seconds: float, client_id: str, statuses: Sequence[dict[str, Any]], queues: int = 4, **settings: Any
) -> dict[str, Any]:
    """A client of group g that owns so many queues of topic t."""
    owned = [{"topic": "t", "broker_name": "b", "queue_id": one} for one in range(queues)]
    return {
        "cluster": "c",
        "consumer_group": "g",
        "client_id": client_id,
        "captured_at": at(seconds),
        "answered": True,
        "owned_queues": owned,
        "consume_status": list(statuses),
        **DEFAULTS,
        **settings,
    }


def status(minute: str, topic: str = "t") -> dict[str, Any]:
    """`response time (ms)/consumed a second/pull time (ms)/pulled a second`, `-`: unknown."""
    numbers = [None if one == "-" else float(one) for one in minute.split("/")]
    names = ("consume_rt_ms", "consume_ok_tps", "pull_rt_ms", "pull_tps")
    return {"topic": topic, "consume_failed_tps": 0.0} | dict(zip(names, numbers, strict=True))


def told_by(client_ids: Iterable[str], threads: int, response_ms: float, **settings: Any) -> list[dict[str, Any]]:
    """Each of these says the same, once a minute for ten minutes; its pulls take no time."""
    row = status(f"{response_ms}/10/0/10")
    return [
        client_row(second, client_id, [row], consume_threads=threads, **settings)
        for client_id in sorted(set(client_ids))
        for second in range(0, 601, 60)
    ]
