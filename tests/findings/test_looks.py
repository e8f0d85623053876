"""What one look at a client shows: Spark says what plain Python says, and both what the tables say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.config.model import Thresholds
from spark_jobs.domain.clients import (
    CacheLimits,
    HeldQueue,
    Status,
    busy_threads,
    drift,
    is_saturated,
    is_stale,
    lacks_lock,
    throttle_cause,
)
from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.findings.allocation_drift import drift as drift_column
from spark_jobs.findings.looks import busy_threads as busy_threads_column
from spark_jobs.findings.looks import is_saturated as is_saturated_column
from spark_jobs.findings.looks import look_state

SEEN_AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
SEEN_AT_MS = int(SEEN_AT.timestamp() * 1000)
#: 1000 messages, 100 MiB, 2000 offsets; a pull 120 s ago; 90 % of the threads.
THRESHOLDS = Thresholds()

#: `-` is unknown. Age: milliseconds since the last pull; `never` is what a client says with 0.
_QUEUES = """
orderly | model        | locked | dropped | messages | MiB | span | age    | stale | unlocked | throttled by
no      | CLUSTERING   | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
no      | CLUSTERING   | yes    | no      | 1000     | 100 | 2000 | 120000 | no    | no       | -
no      | CLUSTERING   | yes    | no      | 1001     | 0   | 0    | 120001 | yes   | no       | CACHED_MESSAGES
no      | CLUSTERING   | yes    | no      | 0        | 101 | 0    | -5000  | no    | no       | CACHED_SIZE
no      | CLUSTERING   | yes    | no      | 0        | 0   | 2001 | 0      | no    | no       | CACHED_SPAN
no      | CLUSTERING   | yes    | no      | 1001     | 101 | 2001 | 0      | no    | no       | CACHED_MESSAGES
no      | CLUSTERING   | yes    | no      | 1000     | 101 | 2001 | 0      | no    | no       | CACHED_SIZE
no      | CLUSTERING   | yes    | no      | -        | -   | 2001 | never  | no    | no       | CACHED_SPAN
no      | CLUSTERING   | yes    | yes     | 1001     | 101 | 2001 | 999999 | no    | no       | -
no      | CLUSTERING   | yes    | -       | 1001     | 0   | 0    | 999999 | yes   | no       | CACHED_MESSAGES
no      | CLUSTERING   | -      | -       | -        | -   | -    | -      | no    | no       | -
-       | -            | no     | no      | 0        | 0   | 2001 | 0      | no    | no       | -
yes     | CLUSTERING   | yes    | no      | 0        | 0   | 2001 | 0      | no    | no       | -
yes     | CLUSTERING   | no     | no      | 0        | 0   | 0    | 0      | no    | yes      | -
yes     | CLUSTERING   | no     | no      | 1001     | 0   | 0    | 130000 | yes   | yes      | CACHED_MESSAGES
yes     | CLUSTERING   | no     | yes     | 0        | 0   | 0    | 0      | no    | no       | -
yes     | CLUSTERING   | -      | no      | 0        | 0   | 0    | 0      | no    | no       | -
yes     | BROADCASTING | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
yes     | -            | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
"""

#: Per topic: response time (ms), consumed well, not well, pulled (a second). Then threads; busy by hand; enough?
_STATUSES = """
topics                        | threads | busy | saturated
400 2.5 0 2                   | 1       | 1.0  | yes
400 2 0 2.25                  | 1       | 0.9  | yes
400 2 0 2.2                   | 1       | 0.88 | no
20 4 0 4                      | 1       | 0.08 | no
100 5 3 0                     | 1       | 0.8  | no
100 5 4 0                     | 1       | 0.9  | yes
400 25 0 20                   | 20      | 10.0 | no
100 100 0 0, 100 79 0 0       | 20      | 17.9 | no
100 100 0 0, 100 80 0 0       | 20      | 18.0 | yes
400 2.5 0 2                   | -       | 1.0  | no
400 2.5 0 2                   | 0       | 1.0  | no
400 2.5 0 -                   | 1       | -    | no
400 2.5 - 9                   | 1       | -    | no
- 2.5 0 2                     | 1       | -    | no
400 2.5 0 2, - 0 0 0          | 1       | -    | no
"""

#: Queues of one broker.
_DRIFTS = """
owned | share | more | less
0 1   | 0 1   |      |
1 0   | 0 1   |      |
0 1 2 | 0 1   | 2    |
0     | 0 1   |      | 1
2     | 0 1   | 2    | 0 1
      | 0     |      | 0
0     |       | 0    |
      |       |      |
"""


def rows(table: str) -> list[dict[str, str | None]]:
    header, *lines = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return [dict(zip(header, (None if cell == "-" else cell for cell in line), strict=True)) for line in lines]


def flag(text: str | None) -> bool | None:
    return None if text is None else text == "yes"


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def held(row: dict[str, str | None]) -> HeldQueue:
    age = row["age"]
    last_pull = None if age is None else 0 if age == "never" else SEEN_AT_MS - int(age)
    messages, mib, span = (number(row[name]) for name in ("messages", "MiB", "span"))
    return HeldQueue(flag(row["locked"]), flag(row["dropped"]), messages, mib, span, last_pull)


def statuses(text: str | None) -> list[Status]:
    one_each = (words.split() for words in (text or "").split(","))
    return [Status(*(None if word == "-" else float(word) for word in words)) for words in one_each]


def snapshot(**said: Any) -> dict[str, Any]:
    unsaid = dict.fromkeys(CLIENT_SNAPSHOTS.columns)
    key = {"cluster": "c", "consumer_group": "g", "captured_at": SEEN_AT, "answered": True}
    return unsaid | key | said


def snapshot_of_queue(name: int, row: dict[str, str | None]) -> dict[str, Any]:
    queue = held(row)
    entry = {name: getattr(queue, name) for name in ("locked", "dropped", "cached_count", "cached_mib", "last_pull")}
    span = {"cached_min_offset": 7, "cached_max_offset": None if queue.cached_span is None else 7 + queue.cached_span}
    place = {"topic": "t", "broker_name": "b", "queue_id": 0, "commit_offset": None, "last_consume": None}
    said = {"consume_orderly": flag(row["orderly"]), "message_model": row["model"]}
    return snapshot(client_id=str(name), owned_queues=[entry | span | place], **said)


def test_spark_on_queues_and_threads(spark: SparkSession) -> None:
    queues, threads = rows(_QUEUES), rows(_STATUSES)
    names = ("consume_rt_ms", "consume_ok_tps", "consume_failed_tps", "pull_tps")
    made = [snapshot_of_queue(name, row) for name, row in enumerate(queues)]
    for name, row in enumerate(threads):
        topics = [dict(zip(names, s, strict=True), topic="t", pull_rt_ms=1.0) for s in statuses(row["topics"])]
        said = {"consume_threads": number(row["threads"]), "consume_status": topics}
        made.append(snapshot(client_id=f"s{name}", **said))
    schema = StructType([field for field in CLIENT_SNAPSHOTS.schema if field.name in CLIENT_SNAPSHOTS.columns])
    found = spark.createDataFrame(made, schema).select(
        "client_id",
        look_state(THRESHOLDS).alias("state"),
        F.round(busy_threads_column(), 6).alias("busy"),
        is_saturated_column(THRESHOLDS).alias("saturated"),
    )
    by_name = {row.client_id: row.asDict(recursive=True) for row in found.collect()}
    for name, row in enumerate(queues):
        state = by_name[str(name)]["state"]
        causes = [queue["cause"] for queue in state["throttled"]]
        verdict = (bool(state["stale"]), bool(state["unlocked"]), causes)
        assert verdict == (flag(row["stale"]), flag(row["unlocked"]), [c for c in [row["throttled by"]] if c]), row
        assert len(state["owned"]) == (0 if row["dropped"] == "yes" else 1), row
    for name, row in enumerate(threads):
        look = by_name[f"s{name}"]
        busy = None if row["busy"] is None else float(row["busy"])
        assert (look["busy"], look["saturated"]) == (busy, flag(row["saturated"])), row
        assert (look["state"]["busy"] is not None) is flag(row["saturated"]), row


def test_plain_python_on_queues() -> None:
    limits = CacheLimits(THRESHOLDS.cached_messages, THRESHOLDS.cached_mib, THRESHOLDS.cached_span)
    for row in rows(_QUEUES):
        queue, orderly = held(row), flag(row["orderly"])
        assert is_stale(queue, SEEN_AT_MS, THRESHOLDS.pull_idle_seconds) is flag(row["stale"]), row
        assert lacks_lock(queue, orderly=orderly, message_model=row["model"]) is flag(row["unlocked"]), row
        assert throttle_cause(queue, limits, orderly=orderly) == row["throttled by"], row


def test_plain_python_on_threads() -> None:
    for row in rows(_STATUSES):
        busy = busy_threads(statuses(row["topics"]))
        assert (None if busy is None else f"{busy:.6g}") == (row["busy"] and f"{float(row['busy']):.6g}"), row
        assert is_saturated(busy, number(row["threads"]), THRESHOLDS.busy_percent) is flag(row["saturated"]), row


def queue_ids(text: str | None) -> list[int]:
    return [int(word) for word in (text or "").split()]


def test_drift_in_spark(spark: SparkSession) -> None:
    cases = [[[("b", i) for i in queue_ids(row[name])] for name in ("owned", "share")] for row in rows(_DRIFTS)]
    queues = "array<struct<broker_name: string, queue_id: int>>"
    frame = spark.createDataFrame(cases, f"owned {queues}, share {queues}").select(
        drift_column(F.col("owned"), F.col("share")).alias("drift")
    )
    for row, found in zip(rows(_DRIFTS), frame.collect(), strict=True):
        by_hand = [("HOLDS_MORE", i) for i in queue_ids(row["more"])] + [
            ("HOLDS_LESS", i) for i in queue_ids(row["less"])
        ]
        assert [(one.cause, one.place.queue_id) for one in found.drift] == by_hand, row


def test_drift_in_plain_python() -> None:
    for row in rows(_DRIFTS):
        owned, share, more, less = (
            {MessageQueue("t", "b", i) for i in queue_ids(row[name])} for name in ("owned", "share", "more", "less")
        )
        by_hand = {cause: queues for cause, queues in (("HOLDS_MORE", more), ("HOLDS_LESS", less)) if queues}
        assert drift(list(owned), list(share)) == by_hand, row
