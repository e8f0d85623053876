"""The hash ring of CONSISTENT_HASH as Columns (Java `ConsistentHashRouter` with its MD5 hash)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.replay.inputs import Inputs, let
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
        existing = (position - first) * nodes

        def node(number: Column) -> Column:
            key = F.concat(client_id, F.lit("-"), (number + existing).cast("string"))
            return F.struct(
                md5_hash(key).alias("hash"),
                (-(rank * nodes + number)).alias("order"),
                first.alias("position"),
            )

        return F.transform(F.sequence(F.lit(0), nodes - 1), node)

    return F.when(nodes > 0, F.sort_array(F.flatten(F.transform(clients, of_client))))


def owner(ring: Column, topic: Column, queue: Column) -> Column:
    """Position of the first node at or after the queue's own hash, else of the ring's first; null without a ring."""
    text = F.concat(
        F.lit("MessageQueue [topic="),
        topic,
        F.lit(", brokerName="),
        queue["broker_name"],
        F.lit(", queueId="),
        queue["queue_id"].cast("string"),
        F.lit("]"),
    )
    at_or_after = let(md5_hash(text), lambda h: F.array_min(F.filter(ring, lambda node: node["hash"] >= h)))
    return F.coalesce(at_or_after, F.try_element_at(ring, F.lit(1)))["position"]
