"""What an allocation is computed from, as Columns of one row, and how expressions over it are written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True)
class Inputs:
    """What a client computes its share from, as Columns of one row.

    `client_ids`: sorted array<string>, duplicates kept; `queues`: sorted array<struct<broker_name, queue_id>>;
    `settings`: struct<virtual_node_count, rooms, broker_room, client_room, config_queues>.
    """

    topic: Column
    client_ids: Column
    queues: Column
    settings: Column


def let(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body(value)` with the value computed once: Spark would compute it again for every element of an inner lambda."""
    return F.element_at(F.transform(F.array(value), body), 1)


def indices(array: Column) -> Column:
    """0 … size−1; empty for an empty array (`sequence(0, -1)` would count down)."""
    return F.transform(array, lambda _, index: index)


def row_inputs() -> Inputs:
    """The inputs of a row with `topic`, `members` (sorted), `queues` (sorted, readable) and `settings`."""
    return Inputs(F.col("topic"), F.col("members.client_id"), F.col("queues"), F.col("settings"))
