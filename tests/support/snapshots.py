"""Source tables from text, for tests: one line per snapshot, written by hand."""

import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, SOURCES, Table
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse
from tests.support.times import at


def membership(
    seconds: float,
    *client_ids: str,
    group: str = "g",
    broker: str = "b",
    topics: Iterable[str] = ("t",),
    listed: bool | None = None,
) -> dict[str, Any]:
    """What the broker lists; a further connection of an id gets the next port. `listed` False: the group is deleted."""
    connections = [
        {"client_id": client_id, "client_addr": f"10.0.0.1:{port}", "language": "JAVA", "version": 493}
        for port, client_id in enumerate(client_ids, start=5000)
    ]
    subscriptions = [
        {"topic": topic, "expression_type": "TAG", "sub_string": "*", "sub_version": 1} for topic in topics
    ]
    key = {"cluster": "c", "consumer_group": group, "broker_name": broker, "captured_at": at(seconds)}
    lists = {"connections": connections, "subscriptions": subscriptions if client_ids else []}
    unknown = dict.fromkeys(("consume_type", "consume_from_where"))
    return key | lists | unknown | {"message_model": "CLUSTERING" if client_ids else None, "listed": listed}


def route(
    seconds: float, queues: int, topic: str = "t", broker: str = "b", message_type: str | None = None
) -> dict[str, Any]:
    """One broker with so many queues to read and write."""
    entry = {"broker_name": broker, "perm": 6, "read_queue_nums": queues, "write_queue_nums": queues}
    known = {"message_type": message_type, "is_static": None}
    return {"cluster": "c", "topic": topic, "captured_at": at(seconds), "queues": [entry], **known}


def offsets(seconds: float, *samples: tuple[int, int, int], topic: str = "t", group: str = "g") -> dict[str, Any]:
    """Per queue from 0: broker offset, consumer offset, last timestamp (0 with consumer offset 0: never committed)."""
    entries = [
        {"broker_name": "b", "queue_id": queue_id, "broker_offset": end, "last_timestamp": last_timestamp}
        | dict.fromkeys(("consumer_offset", "pull_offset"), consumed)
        for queue_id, (end, consumed, last_timestamp) in enumerate(samples)
    ]
    return {"cluster": "c", "consumer_group": group, "topic": topic, "captured_at": at(seconds), "offsets": entries}


def client(seconds: float, client_id: str = "c1", *, group: str = "g", **reported: Any) -> dict[str, Any]:
    """What a client answered: only what is named."""
    key = {"cluster": "c", "consumer_group": group, "client_id": client_id, "captured_at": at(seconds)}
    return key | {"answered": True} | reported


def sighting(first: float, last: float | None = None, **of: Any) -> dict[str, Any]:
    """The thing was seen at these seconds of an hour, first and last; by default once."""
    hour = at(first).replace(minute=0, second=0, microsecond=0)
    return {"cluster": "c", "hour": hour, "first_at": at(first), "last_at": at(first if last is None else last), **of}


def by_table(snapshots: Iterable[tuple[Table, dict[str, Any]]]) -> dict[Table, list[dict[str, Any]]]:
    rows: dict[Table, list[dict[str, Any]]] = {}
    for table, row in snapshots:
        rows.setdefault(table, []).append(row)
    return rows


def load(spark: SparkSession, warehouse: Warehouse, rows: dict[Table, list[dict[str, Any]]]) -> None:
    """Append the rows to the warehouse's source tables, making those that are missing."""
    if warehouse.local_path:
        copy_empty(spark, warehouse, SOURCES)
    else:
        warehouse.create(spark, SOURCES)
    for table, found in rows.items():
        append(spark, warehouse, table, *found)


def append(spark: SparkSession, warehouse: Warehouse, table: Table, *rows: dict[str, Any]) -> None:
    """Append rows to a table that is there; what is not named is null."""
    schema = StructType([field for field in spark_schema(table) if field.name in table.columns])
    warehouse.save(spark.createDataFrame([*rows], schema).write.format("delta").mode("append"), table)


def copy_empty(spark: SparkSession, warehouse: Warehouse, tables: Iterable[Table]) -> None:
    """The tables that the warehouse lacks, without rows: to copy them is cheaper than to make them."""
    assert warehouse.local_path is not None
    missing = [table for table in tables if not (warehouse.local_path / table.name).exists()]
    Warehouse.parse(_empty().name).create(spark, missing)
    for table in missing:
        shutil.copytree(Path(_empty().name, table.name), warehouse.local_path / table.name)


@cache
def _empty() -> TemporaryDirectory[str]:
    """The folder of the tables that this process has made, each once."""
    return TemporaryDirectory()


def healthy_group(seconds: Iterable[float], *client_ids: str, queues: int = 4) -> dict[Table, list[dict[str, Any]]]:
    """Snapshots of one group `g` on topic `t`, all caught up."""
    times = list(seconds)
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, *client_ids) for second in times],
        ROUTE_SNAPSHOTS: [route(second, queues) for second in times],
        OFFSET_SNAPSHOTS: [offsets(second, *([(100, 100, 1)] * queues)) for second in times],
    }
