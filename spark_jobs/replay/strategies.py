"""The allocation strategies as Columns.

Each gives an array aligned with the sorted readable queues: for every queue the positions (in the sorted list of
client ids, from 0) in whose share it falls: none, one, or for CONFIG several. A position is not yet an owner: only
the first position of a client id computes its share (`ownership` takes care of that). Null instead of the array: the
allocation throws, and the clients keep what they had.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.replay.hash_ring import in_blocks, owner, ring
from spark_jobs.replay.inputs import Inputs, indices, let
from spark_jobs.replay.java import matches
from spark_jobs.replay.rooms import broker_rooms, client_rooms, in_rooms, is_unresolvable

#: Queues and clients by their indices → array<struct<queue, position>>, one per queue.
Pairs = Callable[[Inputs, Column, Column], Column]
Positions = Callable[[Inputs], Column]


def _avg(rank: Column, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueAveragely`: consecutive blocks, the first q % n of them one longer."""
    base, longer = F.floor(queues / clients).cast("int"), queues % clients
    in_longer = F.floor(rank / (base + 1)).cast("int")
    # NULLIF: where q < n there is no shorter block, and the branch is not taken.
    in_shorter = longer + F.floor((rank - longer * (base + 1)) / F.nullif(base, F.lit(0))).cast("int")
    return F.when(queues <= clients, rank).when(rank < longer * (base + 1), in_longer).otherwise(in_shorter)


def _circle(rank: Column, _queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueAveragelyByCircle`: dealt out like cards."""
    return rank % clients


def _machine_room(rank: Column, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueByMachineRoom`: equal blocks, then the remainder one by one to the first."""
    base = F.floor(queues / clients).cast("int")
    in_block = F.floor(rank / F.nullif(base, F.lit(0))).cast("int")
    return F.when(rank < base * clients, in_block).otherwise(rank - base * clients)


def _dealt(rule: Callable[[Column, Column, Column], Column]) -> Pairs:
    """A rule (a queue's rank, number of queues, number of clients) → the client's rank, over all queues."""

    def pairs(_: Inputs, queues: Column, clients: Column) -> Column:
        def pair(queue: Column, rank: Column) -> Column:
            client = F.element_at(clients, rule(rank, F.size(queues), F.size(clients)) + 1)
            return F.struct(queue.alias("queue"), client.alias("position"))

        return F.transform(queues, pair)

    return pairs


def _consistent_hash(inputs: Inputs, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueConsistentHash`: the ring knows ids, so twins have one, larger share."""

    def pairs(nodes: Column) -> Column:
        def pair(index: Column) -> Column:
            position = owner(nodes, inputs.topic, F.element_at(inputs.queues, index + 1))
            return F.struct(index.alias("queue"), position.alias("position"))

        return F.transform(queues, pair)

    return let(in_blocks(ring(inputs, clients)), pairs)


_AVG, _CIRCLE, _MACHINE_ROOM = _dealt(_avg), _dealt(_circle), _dealt(_machine_room)


def _over(queues: Column, clients: Column, body: Callable[[Column, Column], Column]) -> Column:
    """`body(queues, clients)` with both lists of indices computed once."""
    both = F.struct(queues.alias("queues"), clients.alias("clients"))
    return let(both, lambda lists: body(lists["queues"], lists["clients"]))


def _everywhere(pairs: Pairs) -> Positions:
    """A strategy over all queues and all clients."""
    return lambda inputs: _over(
        indices(inputs.queues), indices(inputs.client_ids), lambda queues, clients: pairs(inputs, queues, clients)
    )


def _filtered_room(inputs: Inputs) -> Column:
    """MACHINE_ROOM: queues outside the configured rooms are in nobody's share."""

    def pairs(inside: Column, clients: Column) -> Column:
        outside = F.transform(
            F.array_except(indices(inputs.queues), inside),
            lambda index: F.struct(index.alias("queue"), F.lit(None).cast("int").alias("position")),
        )
        return F.concat(_MACHINE_ROOM(inputs, inside, clients), outside)

    return _over(in_rooms(inputs), indices(inputs.client_ids), pairs)


def _nearby(inner: Pairs) -> Positions:
    """`AllocateMachineRoomNearby`: room by room; a room with queues and no client is shared by all clients."""

    def pairs(inputs: Inputs) -> Column:
        def per_room(rooms_of_queues: Column, rooms_of_clients: Column) -> Column:
            def of_room(name: Column) -> Column:
                queues = F.filter(indices(inputs.queues), lambda i: F.element_at(rooms_of_queues, i + 1) == name)
                own = F.filter(indices(inputs.client_ids), lambda i: F.element_at(rooms_of_clients, i + 1) == name)
                clients = F.when(F.size(own) > 0, own).otherwise(indices(inputs.client_ids))
                return _over(queues, clients, lambda q, c: inner(inputs, q, c))

            return F.flatten(F.transform(F.array_distinct(rooms_of_queues), of_room))

        resolved = _over(broker_rooms(inputs), client_rooms(inputs), per_room)
        return F.when(~is_unresolvable(inputs), resolved)

    return pairs


def _aligned(pairs: Positions) -> Positions:
    """One pair per queue → array<array<position>> in the order of the queues; null where a list is empty.

    The check of the lists is `AbstractAllocateMessageQueueStrategy.check`.
    """

    def positions(inputs: Inputs) -> Column:
        in_order = F.sort_array(pairs(inputs))
        per_queue = F.transform(in_order, lambda pair: F.array_compact(F.array(pair["position"])))
        return F.when((F.size(inputs.queues) > 0) & (F.size(inputs.client_ids) > 0), per_queue)

    return positions


def _config(inputs: Inputs) -> Column:
    """`AllocateMessageQueueByConfig`: every client id has its list, whatever the others have."""

    def holders(queue: Column) -> Column:
        def names_queue(entry: Column) -> Column:
            of_broker = (entry["topic"] == inputs.topic) & (entry["broker"] == queue["broker_name"])
            return of_broker & F.array_contains(entry["queues"], queue["queue_id"])

        def holding(entries: Column) -> Column:
            def holds(client_id: Column) -> Column:
                return F.exists(entries, lambda entry: matches(client_id, entry["client"]))

            return F.filter(F.array_distinct(inputs.client_ids), holds)

        ids = let(F.filter(inputs.settings["config_queues"], names_queue), holding)
        return F.transform(ids, lambda client_id: F.array_position(inputs.client_ids, client_id).cast("int") - 1)

    return F.transform(inputs.queues, holders)


#: Strategy name → array<array<position>>, aligned with the queues.
SHARES: dict[str, Positions] = {
    "AVG": _aligned(_everywhere(_AVG)),
    "AVG_BY_CIRCLE": _aligned(_everywhere(_CIRCLE)),
    "CONSISTENT_HASH": _aligned(_everywhere(_consistent_hash)),
    "MACHINE_ROOM": _aligned(_filtered_room),
    "MACHINE_ROOM_NEARBY-AVG": _aligned(_nearby(_AVG)),
    "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE": _aligned(_nearby(_CIRCLE)),
    "MACHINE_ROOM_NEARBY-CONSISTENT_HASH": _aligned(_nearby(_consistent_hash)),
    "CONFIG": _config,
}
