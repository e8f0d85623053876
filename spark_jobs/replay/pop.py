"""What a broker assigns to a client that consumes by POP, as a Column."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.pop import ALL_QUEUES_OF_BROKER
from spark_jobs.replay.inputs import Inputs, indices, let


def pop_assignment(inputs: Inputs, shares: Column, share: Column, client_id: Column) -> Column:
    """array<struct<broker_name, queue_id>> a client may pop from; queue id -1 is every queue of that broker.

    `shares` are the inner strategy's (`strategies.SHARES`); `share` (popShareQueueNum) is how many following positions
    a client helps out. Null: the client keeps what it had. Its plain twin is `domain.pop.pop_assignment`; the source
    is `QueryAssignmentProcessor.allocate4Pop`.
    """
    clients, queues = F.size(inputs.client_ids), F.size(inputs.queues)
    everything = F.transform(
        F.array_distinct(inputs.queues["broker_name"]),
        lambda broker: F.struct(broker.alias("broker_name"), F.lit(ALL_QUEUES_OF_BROKER).alias("queue_id")),
    )
    position = F.array_position(inputs.client_ids, client_id).cast("int") - 1
    return (
        F.when((share <= 0) | (share >= clients - 1), everything)
        .when((clients == 0) | (queues == 0) | (client_id == ""), F.lit(None))
        .when(position < 0, F.slice(inputs.queues, 1, 0))
        .when(clients > queues, F.slice(inputs.queues, position % queues + 1, 1))
        .otherwise(_helped(inputs, shares, share, position))
    )


def _helped(inputs: Inputs, shares: Column, share: Column, position: Column) -> Column:
    """The queues of a position and of the `share` next ones, around the end; a twin's are those of its first."""

    def first(step: Column) -> Column:
        place = (position + step) % F.size(inputs.client_ids)
        return F.array_position(inputs.client_ids, F.element_at(inputs.client_ids, place + 1)).cast("int") - 1

    def queues(firsts: Column) -> Column:
        mine = F.filter(indices(inputs.queues), lambda i: F.arrays_overlap(F.element_at(shares, i + 1), firsts))
        return F.transform(mine, lambda i: F.element_at(inputs.queues, i + 1))

    return let(F.transform(F.sequence(F.lit(0), share), first), queues)
