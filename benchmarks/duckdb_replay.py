"""The replay in DuckDB: the same intervals, owners and lags from the same Parquet files, in SQL written for it.

It replays what the benchmark's fleets are: every client runs AVG and subscribes its group's topics, a topic lies on one
broker, brokers are readable, and no sample is stored twice. The audit looks after all of that besides.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval

_SQL = Path(__file__).with_name("duckdb_replay.sql").read_text(encoding="utf-8")


def connect(threads: int) -> duckdb.DuckDBPyConnection:
    """A database in memory that works with so many threads."""
    connection = duckdb.connect(config={"threads": threads})
    # Spark's own timestamps come as UTC without a zone, Delta's with one.
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def load(
    connection: duckdb.DuckDBPyConnection,
    files: Mapping[str, Sequence[str]],
    interval: Interval,
    configuration: Configuration,
) -> None:
    """Says what is replayed: the files of each table, and the interval, whole steps of an hour."""
    for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS):
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {table.name} AS SELECT * REPLACE (captured_at::TIMESTAMP AS captured_at) "
            f"FROM read_parquet({list(files[table.name])!r})"
        )
    moments = {
        "run_start": interval.start,
        "run_end": interval.end,
        "observed_from": interval.start - configuration.warm_up,
        "read_from": interval.start - configuration.look_back,
    }
    for name, moment in moments.items():
        connection.execute(f"SET VARIABLE {name} = TIMESTAMP '{_text(moment)}'")
    connection.execute(f"SET VARIABLE max_gap = INTERVAL {configuration.max_gap.total_seconds()} SECOND")
    connection.execute(f"SET VARIABLE step = INTERVAL {configuration.grid.length.total_seconds()} SECOND")


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def replay(connection: duckdb.DuckDBPyConnection) -> None:
    """Makes the tables `intervals`, `allocations` and `progress` of what is loaded."""
    connection.execute(_SQL)


def export_states(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Writes what RocketMQ's own loop reads: one line per (group, topic, client ids), see `java/AllocationLoop.java`.

    How many snapshots showed it, group, topic, client ids, queues by the topic's newest route; separated by tabs.
    """
    connection.execute(
        """
        COPY (
          WITH listed AS (
            SELECT count(*) AS snapshots, cluster, consumer_group, broker_name,
                   list_sort([c.client_id FOR c IN connections]) AS ids, [s.topic FOR s IN subscriptions] AS topics
            FROM membership_snapshots
            WHERE captured_at >= getvariable('run_start') AND captured_at < getvariable('run_end')
            GROUP BY ALL
          ), of_topic AS (SELECT * EXCLUDE (topics), unnest(topics) AS topic FROM listed),
          routed AS (SELECT cluster, topic, arg_max(queues, captured_at) AS queues FROM route_snapshots GROUP BY ALL)
          SELECT snapshots, consumer_group, topic, array_to_string(ids, ' '),
                 array_to_string([q.broker_name || '#' || q.read_queue_nums FOR q IN queues], ' ')
          FROM of_topic JOIN routed USING (cluster, topic)
          WHERE list_contains([q.broker_name FOR q IN queues], broker_name) AND len(ids) > 0
          ORDER BY ALL
        ) TO '"""
        + str(target).replace("'", "''")
        + "' (FORMAT csv, DELIMITER '\t', HEADER false, QUOTE '')"
    )


def main(task: Mapping[str, object]) -> dict[str, list[float]]:
    """Seconds per round over a fleet's `files` and `interval`, after a round that does not count."""
    connection = connect(threads=2)
    files, interval = task["files"], Interval.parse(str(task["interval"]))
    load(connection, files, interval, Configuration())  # type: ignore[arg-type]
    replay(connection)
    seconds = []
    for _ in range(int(str(task["rounds"]))):
        began = time.perf_counter()
        replay(connection)
        seconds.append(time.perf_counter() - began)
    return {"seconds": seconds}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))), flush=True)
