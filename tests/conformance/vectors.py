"""Answers of RocketMQ's Java classes; `ALLOCATION_VECTORS` names another file of the same form."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import Strategy

_SHIPPED = Path(__file__).parents[1] / "data" / "allocation_vectors.jsonl"
#: Nearby vectors: the room is the text before the first '-'.
_ROOM = "^([^-]+)"

#: What Java returned for one client: queues, None for null, or the message of the exception.
Result = frozenset[MessageQueue] | None | str


class Vector(NamedTuple):
    """One case; `pop_share` is None unless the broker assigns, and then `strategy_name` is the inner one."""

    number: int
    strategy_name: str
    params: dict[str, Any]
    pop_share: int | None
    queues: tuple[MessageQueue, ...]
    client_ids: tuple[str, ...]
    results: dict[str, Result]

    @property
    def strategy(self) -> Strategy:
        """Made when asked for: Java's classes also refuse settings."""
        rooms = frozenset(self.params["consumeridcs"]) if "consumeridcs" in self.params else None
        return Strategy(self.strategy_name, self.params.get("virtualNodeCnt", 10), rooms, _ROOM, _ROOM)


def read_vectors() -> list[Vector]:
    path = Path(os.environ.get("ALLOCATION_VECTORS", _SHIPPED))
    lines = path.read_text(encoding="utf-8").split("\n")
    return [_vector(json.loads(line)) for line in lines if line.strip()]


def _vector(case: dict[str, Any]) -> Vector:
    params = case["params"]
    is_pop = case["strategy"] == "POP"
    return Vector(
        case["id"],
        params["inner"] if is_pop else case["strategy"],
        params,
        params["popShareQueueNum"] if is_pop else None,
        tuple(MessageQueue(*queue) for queue in case["mqAll"] or ()),
        tuple(case["cidAll"] or ()),
        {client_id: _result(result) for client_id, result in case["result"].items()},
    )


def _result(result: list[list[Any]] | str | None) -> Result:
    if result is None:
        return None
    if isinstance(result, str):
        marker, _java_class, message = result.split(":", 2)
        assert marker == "EX", result
        return message
    return frozenset(MessageQueue(*queue) for queue in result)
