"""The allocation strategies as Columns.

Each gives an array aligned with the sorted readable queues: for every queue the positions (in the sorted list of
client ids, from 0) in whose share it falls: none, one, or for CONFIG several. A position is not yet an owner: only
the first position of a client id computes its share (`ownership` takes care of that).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.replay.java import md5_hash


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


def _avg(rank: Column, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueAveragely`: consecutive blocks, the first q % n of them one longer."""
    base, longer = F.floor(queues / clients).cast("int"), queues % clients
    in_longer = F.floor(rank / (base + 1)).cast("int")
    # NULLIF: where q < n there is no shorter block, and the branch is not taken.
    in_shorter = longer + F.floor((rank - longer * (base + 1)) / F.nullif(base, F.lit(0))).cast("int")
    return F.when(queues <= clients, rank).when(rank < longer * (base + 1), in_longer).otherwise(in_shorter)


def _circle(rank: Column, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueAveragelyByCircle`: dealt out like cards."""
    return rank % clients


def _machine_room(rank: Column, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueByMachineRoom`: equal blocks, then the remainder one by one to the first."""
    base = F.floor(queues / clients).cast("int")
    in_block = F.floor(rank / F.nullif(base, F.lit(0))).cast("int")
    return F.when(rank < base * clients, in_block).otherwise(rank - base * clients)


def _dealt(rule: Callable[[Column, Column, Column], Column]) -> Callable[[Inputs, Column, Column], Column]:
    """A rule from ranks to ranks, over some queues and some clients given by their indices."""

    def pairs(_: Inputs, queues: Column, clients: Column) -> Column:
        def pair(queue: Column, rank: Column) -> Column:
            client = F.element_at(clients, rule(rank, F.size(queues), F.size(clients)) + 1)
            return F.struct(queue.alias("queue"), client.alias("position"))

        return F.transform(queues, pair)

    return pairs


def _ring(inputs: Inputs, clients: Column) -> Column:
    """array<hash, order, position> in ring order: `ConsistentHashRouter.addNode` for every client in turn.

    A client id that comes again continues the numbers of its nodes. Of equal hashes the node added last wins, hence
    the descending order. (The router counts the nodes a client *still holds*; one overwritten by an equal 32-bit hash
    of another client before a twin joins would shift the twin's numbers. Here it does not.)
    """
    nodes = inputs.settings["virtual_node_count"]

    def of_client(position: Column, rank: Column) -> Column:
        client_id = F.element_at(inputs.client_ids, position + 1)
        occurrence = position - F.array_position(inputs.client_ids, client_id).cast("int") + 1
        first = position - occurrence

        def node(number: Column) -> Column:
            key = F.concat(client_id, F.lit("-"), (number + occurrence * nodes).cast("string"))
            return F.struct(
                md5_hash(key).alias("hash"),
                (-(rank * nodes + number)).alias("order"),
                first.alias("position"),
            )

        return F.transform(F.sequence(F.lit(0), nodes - 1), node)

    ring = F.flatten(F.transform(clients, of_client))
    return F.when(nodes > 0, F.sort_array(ring))


def _consistent_hash(inputs: Inputs, queues: Column, clients: Column) -> Column:
    """`AllocateMessageQueueConsistentHash`: the first node at or after the queue's own hash, else the ring's first."""

    def pairs(ring: Column) -> Column:
        def pair(index: Column) -> Column:
            queue = F.element_at(inputs.queues, index + 1)
            text = F.concat(
                F.lit("MessageQueue [topic="),
                inputs.topic,
                F.lit(", brokerName="),
                queue["broker_name"],
                F.lit(", queueId="),
                queue["queue_id"].cast("string"),
                F.lit("]"),
            )
            at_or_after = let(md5_hash(text), lambda h: F.array_min(F.filter(ring, lambda node: node["hash"] >= h)))
            node = F.coalesce(at_or_after, F.try_element_at(ring, F.lit(1)))
            return F.struct(index.alias("queue"), node["position"].alias("position"))

        return F.transform(queues, pair)

    return let(_ring(inputs, clients), pairs)


Pairs = Callable[[Inputs, Column, Column], Column]
_avg_pairs, _circle_pairs, _machine_room_pairs = _dealt(_avg), _dealt(_circle), _dealt(_machine_room)


def _in_rooms(inputs: Inputs) -> Column:
    """Indices of the queues whose broker name is room@name with a configured room.

    Java's `split("@")` drops trailing empty parts: `room1@` has one part, `room1@b@` two.
    """

    def in_rooms(index: Column) -> Column:
        broker_name = F.element_at(inputs.queues, index + 1)["broker_name"]
        parts = F.split(F.regexp_replace(broker_name, "@+$", ""), "@")
        return (F.size(parts) == 2) & F.array_contains(inputs.settings["rooms"], F.element_at(parts, 1))

    return F.filter(indices(inputs.queues), in_rooms)


def _filtered_room(inputs: Inputs) -> Column:
    """MACHINE_ROOM: queues outside the configured rooms are in nobody's share."""
    inside = _machine_room_pairs(inputs, _in_rooms(inputs), indices(inputs.client_ids))
    outside = F.transform(
        F.array_except(indices(inputs.queues), _in_rooms(inputs)),
        lambda index: F.struct(index.alias("queue"), F.lit(None).cast("int").alias("position")),
    )
    return F.concat(inside, outside)


def room(name: Column, pattern: Column) -> Column:
    """The first group of the pattern where it is found in the name, else the empty string."""
    return F.call_function("regexp_extract", name, pattern, F.lit(1))


def _nearby(inner: Pairs) -> Callable[[Inputs], Column]:
    """`AllocateMachineRoomNearby`: room by room; a room with queues and no client is shared by all clients."""

    def pairs(inputs: Inputs) -> Column:
        broker_rooms = F.transform(inputs.queues, lambda q: room(q["broker_name"], inputs.settings["broker_room"]))
        client_rooms = F.transform(inputs.client_ids, lambda c: room(c, inputs.settings["client_room"]))

        def per_room(rooms: Column) -> Column:
            def of_room(name: Column) -> Column:
                queues = F.filter(indices(inputs.queues), lambda i: F.element_at(rooms["brokers"], i + 1) == name)
                clients = F.filter(indices(inputs.client_ids), lambda i: F.element_at(rooms["clients"], i + 1) == name)
                everybody = indices(inputs.client_ids)
                who = F.when(F.size(clients) > 0, clients).otherwise(everybody)
                return let(
                    F.struct(queues.alias("queues"), who.alias("clients")),
                    lambda share: inner(inputs, share["queues"], share["clients"]),
                )

            return F.flatten(F.transform(F.array_distinct(rooms["brokers"]), of_room))

        return let(F.struct(broker_rooms.alias("brokers"), client_rooms.alias("clients")), per_room)

    return pairs


def _everywhere(pairs: Pairs) -> Callable[[Inputs], Column]:
    return lambda inputs: let(
        F.struct(indices(inputs.queues).alias("queues"), indices(inputs.client_ids).alias("clients")),
        lambda all_of: pairs(inputs, all_of["queues"], all_of["clients"]),
    )


def _aligned(pairs: Callable[[Inputs], Column]) -> Callable[[Inputs], Column]:
    """One pair per queue → array<array<position>> in the order of the queues."""
    return lambda inputs: F.transform(
        F.sort_array(pairs(inputs)), lambda pair: F.array_compact(F.array(pair["position"]))
    )


def _config(inputs: Inputs) -> Column:
    """`AllocateMessageQueueByConfig`: every client has its list, whatever the others have."""

    def holders(queue: Column) -> Column:
        def holds(position: Column) -> Column:
            client_id = F.element_at(inputs.client_ids, position + 1)
            return F.exists(
                inputs.settings["config_queues"],
                lambda entry: (
                    F.rlike(client_id, F.concat(F.lit("^(?:"), entry["client"], F.lit(")$")))
                    & (entry["topic"] == inputs.topic)
                    & (entry["broker"] == queue["broker_name"])
                    & F.array_contains(entry["queues"], queue["queue_id"])
                ),
            )

        return F.filter(indices(inputs.client_ids), holds)

    return F.transform(inputs.queues, holders)


#: Strategy name → array<array<position>>, aligned with the queues.
SHARES: dict[str, Callable[[Inputs], Column]] = {
    "AVG": _aligned(_everywhere(_avg_pairs)),
    "AVG_BY_CIRCLE": _aligned(_everywhere(_circle_pairs)),
    "CONSISTENT_HASH": _aligned(_everywhere(_consistent_hash)),
    "MACHINE_ROOM": _aligned(_filtered_room),
    "MACHINE_ROOM_NEARBY-AVG": _aligned(_nearby(_avg_pairs)),
    "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE": _aligned(_nearby(_circle_pairs)),
    "MACHINE_ROOM_NEARBY-CONSISTENT_HASH": _aligned(_nearby(_consistent_hash)),
    "CONFIG": _config,
}
