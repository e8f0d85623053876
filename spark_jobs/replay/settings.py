"""The configured settings of a group as a Column: what the snapshots cannot tell."""

from __future__ import annotations

import json

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config import Configuration, GroupEntry
from spark_jobs.replay.java import matches

_TYPES = {
    "strategy": "string",
    "virtual_node_count": "int",
    "rooms": "array<string>",
    "broker_room": "string",
    "client_room": "string",
    "config_queues": "array<struct<client: string, topic: string, broker: string, queues: array<int>>>",
}


def _matches(entry: GroupEntry) -> Column:
    of_cluster = matches(F.col("cluster"), F.lit(entry.cluster))
    return of_cluster if entry.group is None else of_cluster & matches(F.col("consumer_group"), F.lit(entry.group))


def group_settings(configuration: Configuration) -> Column:
    """struct<strategy, virtual_node_count, rooms, broker_room, client_room, config_queues> of a row's group.

    Field by field: the last matching entry with a group, else the last without one, else the default; null is "not
    configured". Its plain twin is `config.settings_for`.
    """
    by_precedence = sorted(configuration.groups, key=lambda entry: entry.group is not None)
    fields = []
    for name, data_type in _TYPES.items():
        chosen = F.lit(10 if name == "virtual_node_count" else None).cast(data_type)
        for entry in by_precedence:
            document = entry.model_dump(mode="json", include={name})
            if document[name] is not None:
                value = F.from_json(F.lit(json.dumps(document)), f"{name} {data_type}")[name]
                chosen = F.when(_matches(entry), value).otherwise(chosen)
        fields.append(chosen.alias(name))
    return F.struct(*fields)
