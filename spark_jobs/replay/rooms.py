"""Machine rooms as Columns: RocketMQ's own `room@broker` names, and rooms that a pattern finds in names."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.replay.inputs import Inputs, indices


def in_rooms(inputs: Inputs) -> Column:
    """Indices of the queues whose broker name is room@name with a configured room (MACHINE_ROOM).

    Java's `split("@")` drops trailing empty parts: `room1@` has one part, `room1@b@` two.
    """

    def in_room(index: Column) -> Column:
        broker_name = F.element_at(inputs.queues, index + 1)["broker_name"]
        parts = F.split(F.regexp_replace(broker_name, r"@+\z", ""), "@")
        return (F.size(parts) == 2) & F.array_contains(inputs.settings["rooms"], F.element_at(parts, 1))

    return F.filter(indices(inputs.queues), in_room)


def broker_rooms(inputs: Inputs) -> Column:
    """array<room> per queue, as the configured pattern finds it; '' where it finds none (MACHINE_ROOM_NEARBY)."""
    return F.transform(inputs.queues, lambda queue: _room(queue["broker_name"], inputs.settings["broker_room"]))


def client_rooms(inputs: Inputs) -> Column:
    """array<room> per position, as the configured pattern finds it; '' where it finds none (MACHINE_ROOM_NEARBY)."""
    return F.transform(inputs.client_ids, lambda client_id: _room(client_id, inputs.settings["client_room"]))


def _room(name: Column, pattern: Column) -> Column:
    """The first group of the pattern where it is first found in the name, else the empty string."""
    return F.call_function("regexp_extract", name, pattern, F.lit(1))


def is_unresolvable(inputs: Inputs) -> Column:
    """Whether a queue or a client has no room: then the allocation throws (`AllocateMachineRoomNearby`)."""
    return F.array_contains(broker_rooms(inputs), "") | F.array_contains(client_rooms(inputs), "")
