"""The common shape of what the rules find, before it is folded.

A touch: this condition held from `start` to `end`, in this membership view, on this queue (or on none in particular).

`client_id` is the subject of the finding, `blamed` a client that it names. `patience`: seconds that the condition must
stand (null: until a group agrees). `severity`: INFO, WARN or ERROR; the worst touch counts. `measures` (numbers by
name) and `parties` (who says what) are those of the touch with the greatest `weight`, the latest of equals.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.replay.inputs import let

#: What makes two touches parts of one condition, if they follow each other.
IDENTITY = ("rule", "step_start", "cluster", "consumer_group", "topic", "client_id", "cause")

_TYPES = {
    "rule": "string",
    "step_start": "timestamp",
    "cluster": "string",
    "consumer_group": "string",
    "topic": "string",
    "client_id": "string",
    "cause": "string",
    "membership_view": "string",
    "start": "timestamp",
    "end": "timestamp",
    "seen_at": "timestamp",
    "queue": "struct<topic: string, broker_name: string, queue_id: int, role: string>",
    "blamed": "string",
    "connections": "array<struct<client_id: string, client_addr: string, language: string, version: int>>",
    "member_count": "int",
    "queue_count": "int",
    "if_deduplicated": "struct<unassigned_queues: int, double_owned_queues: int>",
    "if_unique": "struct<unassigned_queues: int, double_owned_queues: int>",
    # What a rule says itself; null leaves it to `conditions` and `finding`.
    "patience": "double",
    "severity": "string",
    "weight": "double",
    "measures": "array<struct<name: string, value: double>>",
    "parties": "array<struct<name: string, client_ids: array<string>>>",
}

UNASSIGNED = "UNASSIGNED"
DOUBLE_OWNED = "DOUBLE_OWNED"
DISPUTED = "DISPUTED"
BEHIND, REWOUND, HOT, AT_RISK = "BEHIND", "REWOUND", "HOT", "AT_RISK"


def touches(rows: DataFrame, rule: str, **columns: Column) -> DataFrame:
    """One row per touch in the common shape; what neither `rows` nor `columns` have is null."""
    named = rows.withColumns({**columns, "rule": F.lit(rule)})
    present = set(named.columns)
    # As texts: each Column that Python makes costs several calls into the JVM, and this is done for every rule.
    return named.selectExpr(
        *(
            f"CAST({f'`{name}`' if name in present else 'NULL'} AS {data_type}) AS `{name}`"
            for name, data_type in _TYPES.items()
        )
    )


def queue(role: str) -> Column:
    """The queue of a row in the role it plays in the finding."""
    return F.struct("topic", "broker_name", "queue_id", F.lit(role).alias("role"))


def measures(**values: Column) -> Column:
    """Numbers by name, in the order of the names; null is unknown."""
    named = (F.struct(F.lit(name).alias("name"), values[name].cast("double").alias("value")) for name in sorted(values))
    return F.array(*named)


def parties(
    said: Column,
    value: Callable[[Column], Column],
    name: Callable[[Column], Column] = lambda value: value,
    *,
    ascending: bool = True,
) -> Column:
    """Each different `value` of an array of structs with `client_id`, under its `name`, with the ids that have it."""

    def party(one: Column) -> Column:
        same = F.filter(said, lambda entry: value(entry) == one)
        return F.struct(name(one).alias("name"), F.array_distinct(same["client_id"]).alias("client_ids"))

    values = F.sort_array(F.array_distinct(F.transform(said, value)), asc=ascending)
    return let(values, lambda each: F.transform(each, party))


def nothing() -> Column:
    """For an identity that a rule does not have."""
    return F.lit(None).cast("string")
