"""The hash ring of CONSISTENT_HASH as Columns (Java `ConsistentHashRouter` with its MD5 hash)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.replay.inputs import Inputs, indices, let
from spark_jobs.replay.java import md5_hash


def ring(inputs: Inputs, clients: Column) -> Column:
    """array<hash, order, position> in ring order, of clients given by their indices; null without virtual nodes.

    A client id that comes again continues the numbers of its nodes. Of equal hashes the node added last wins, hence
    the descending order. (The router counts the nodes a client *still holds*; one overwritten by an equal 32-bit hash
    of another client before a twin joins would shift the twin's numbers. Here it does not.)
    """
    nodes = inputs.settings["virtual_node_count"]

    def of_client(position: Column, rank: Column) -> Column:
        client_id = F.element_at(inputs.client_ids, position + 1)
        first = F.array_position(inputs.client_ids, client_id).cast("int") - 1

        def nodes_of(client: Column) -> Column:
            existing = (position - client["first"]) * nodes

            def node(number: Column) -> Column:
                key = F.concat(client["id"], F.lit("-"), (number + existing).cast("string"))
                return F.struct(
                    md5_hash(key).alias("hash"),
                    (-(rank * nodes + number)).alias("order"),
                    client["first"].alias("position"),
                )

            return F.transform(F.sequence(F.lit(0), nodes - 1), node)

        return let(F.struct(client_id.alias("id"), first.alias("first")), nodes_of)

    return F.when(nodes > 0, F.sort_array(F.flatten(F.transform(clients, of_client))))


def in_blocks(ring: Column) -> Column:
    """struct<nodes, length, lasts> of a ring: `lasts` are the hashes at the end of each block of `length` nodes.

    A queue is then looked for in the ends of √n blocks and in one block, not in n nodes.
    """

    def blocks(nodes: Column) -> Column:
        count = F.size(nodes)
        length = F.greatest(F.ceil(F.sqrt(count)).cast("int"), F.lit(1))

        def ends_block(index: Column) -> Column:
            return ((index + 1) % length == 0) | (index + 1 == count)

        ends = F.filter(indices(nodes), ends_block)
        lasts = F.transform(ends, lambda index: F.element_at(nodes, index + 1)["hash"])
        return F.struct(nodes.alias("nodes"), length.alias("length"), lasts.alias("lasts"))

    return let(ring, blocks)


def owner(ring: Column, topic: Column, queue: Column) -> Column:
    """Position of the first node at or after the queue's own hash, else of the ring's first; null without a ring.

    `ring`: `in_blocks`.
    """
    text = F.concat(
        F.lit("MessageQueue [topic="),
        topic,
        F.lit(", brokerName="),
        queue["broker_name"],
        F.lit(", queueId="),
        queue["queue_id"].cast("string"),
        F.lit("]"),
    )

    def at_or_after(hashed: Column) -> Column:
        blocks_before = F.size(F.filter(ring["lasts"], lambda last: last < hashed))
        block = F.slice(ring["nodes"], blocks_before * ring["length"] + 1, ring["length"])
        return F.array_min(F.filter(block, lambda node: node["hash"] >= hashed))

    return F.coalesce(let(md5_hash(text), at_or_after), F.try_element_at(ring["nodes"], F.lit(1)))["position"]
