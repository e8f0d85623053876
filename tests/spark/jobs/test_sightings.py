"""Sightings of days ago, from the recording to the finding."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from schemas import GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, QUALITY_RESULTS, ROUTE_SNAPSHOTS, SIGHTINGS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import to_micros
from spark_jobs.ingest.load import ingest
from spark_jobs.ingest.recording import NOT_LISTED
from spark_jobs.operate.backfill import audited, backfill
from spark_jobs.operate.late import late_steps
from spark_jobs.operate.maintain import maintain
from spark_jobs.operate.verify import verify
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.support.fakes import connections, offset_table, queue
from tests.support.fakes import route as queues_of
from tests.support.snapshots import append, healthy_group, load, membership, route
from tests.support.times import at, naive

HOUR = 3600


def line(kind: str, second: int, body: str, **key: str) -> str:
    return json.dumps({"kind": kind, "at": to_micros(at(second)) // 1000, **key, "body": body})


def stats_body(**consumed: Sequence[int]) -> str:
    """By broker, of 100 messages in each of its queues."""
    return offset_table(
        *(
            queue(name, "t", number, brokerOffset=100, consumerOffset=offset, lastTimestamp=1, pullOffset=offset)
            for name, offsets in consumed.items()
            for number, offset in enumerate(offsets)
        )
    )


def recorded() -> Iterator[str]:
    """From 10:20 to 10:30 groups `g` and `h` on two queues of broker `a` and one of `b`; from 13:40 to 14:00 only `g`,
    on one queue of `a`.
    """
    yield '{"kind":"meta","cluster":"c"}'
    for second in [*range(1200, 1800, 20), *range(13_200, 14_400, 20)]:
        is_early = second < 1800
        yield line("route", second, queues_of(*("aab" if is_early else "a")), topic="t")
        offsets = stats_body(a=(100, 95), b=(93,)) if is_early else stats_body(a=(100,))
        yield line("stats", second, offsets, group="g", topic="t")
        for group in ("g", "h") if is_early else ("g",):
            yield line("connection", second, connections("t", "c1"), group=group, broker="a")


def ingest_lines(spark: SparkSession, warehouse: Warehouse, recording: Path, lines: Iterable[str]) -> None:
    recording.write_text("\n".join(lines) + "\n")
    ingest(spark, warehouse, [recording])


@pytest.fixture
def loaded(spark: SparkSession, warehouse: Warehouse, filled_tables: None, tmp_path: Path) -> Warehouse:
    ingest_lines(spark, warehouse, tmp_path / "recording.jsonl", recorded())
    return warehouse


def hour(number: int) -> Interval:
    return Interval(at(number * HOUR), at((number + 1) * HOUR))


def hits(findings: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """Rule, group, severity, subject, second at which it begins."""
    named = ("rule", "consumer_group", "severity", "subject")
    return {(*(row[name] for name in named), (row["started_at"] - naive(0)).total_seconds()) for row in findings}


def sightings(spark: SparkSession, warehouse: Warehouse) -> list[tuple[str, float, float]]:
    """Group, whether it was deleted, or topic and broker with its queues, first and last second."""
    frame = warehouse.read(spark, SIGHTINGS).orderBy("hour", "consumer_group", "broker_name", "first_at")
    named = frame.selectExpr(
        "concat_ws(' ', consumer_group, topic, broker_name, read_queue_nums, if(deleted, 'deleted', null))",
        "unix_seconds(first_at)",
        "unix_seconds(last_at)",
    )
    start = round(at(0).timestamp())
    return [(name, first - start, last - start) for name, first, last in named.collect()]


EARLY = [("t a 2", 1200, 1780), ("t b 1", 1200, 1780), ("g", 1200, 1780), ("h", 1200, 1780)]
LATE = [("t a 1", 13_200, 14_380), ("g", 13_200, 14_380)]


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_what_was_seen_hours_ago_is_missed_and_a_run_is_audited_again_from_what_it_read(
    spark: SparkSession, loaded: Warehouse
) -> None:
    assert sightings(spark, loaded) == EARLY + LATE
    result = run(spark, loaded, RunSpec(Interval(at(2 * HOUR), at(4 * HOUR))), Configuration())
    # From 12:00 to 13:00 nobody was captured at all. After that group h still says nothing since 10:30; broker b held
    # 7 messages then and queue a:1 held 5, and g is back without them.
    assert hits(result.findings) == {
        ("UNOBSERVED", "g", "INFO", "g", 2 * HOUR),
        ("UNOBSERVED", "h", "INFO", "h", 2 * HOUR),
        ("UNOBSERVED", "g", "WARN", "g", 3 * HOUR),
        ("UNOBSERVED", "h", "INFO", "h", 3 * HOUR),
        ("BROKER_NOT_READABLE", "g", "ERROR", "b:0", 13_200),
        ("BROKER_NOT_READABLE", "g", "ERROR", "a:1", 13_200),
    }
    assert result.run["source_versions"]["sightings"] == loaded.version(spark, SIGHTINGS)
    assert loaded.read(spark, QUALITY_RESULTS).where("NOT success AND severity = 'critical'").isEmpty()
    loaded.delta_table(spark, SIGHTINGS).delete()
    assert verify(spark, loaded, result.run["run_id"]).differs == {}


@pytest.mark.slow
def test_a_group_that_was_deleted_is_not_missed(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    """As above, but from 10:30 on no broker lists `h`, and at 13:59:45 none has `t`, as capture writes it."""
    said = [
        {"kind": "connection", "at": to_micros(at(second)) // 1000, "group": "h", "broker": "a", "error": NOT_LISTED}
        for second in (1800, 1860, 1920)
    ]
    no_route = {"error": "MQClientException CODE: 17  DESC: No topic route info", "listed": "false"}
    said.append({"kind": "route", "at": to_micros(at(14_385)) // 1000, "topic": "t", **no_route})
    ingest_lines(spark, warehouse, tmp_path / "recording.jsonl", [*recorded(), *map(json.dumps, said)])
    assert sightings(spark, warehouse) == [*EARLY, ("h deleted", 1800, 1920), ("t", 14_385, 14_385), *LATE]
    findings = run(spark, warehouse, RunSpec(Interval(at(0), at(4 * HOUR))), Configuration()).findings
    assert {row["consumer_group"] for row in findings if row["rule"] == "UNOBSERVED"} == {"g"}
    status = warehouse.read(spark, GROUP_STATUS).where("consumer_group = 'h'").select("step_start", "deleted_at")
    assert [tuple(row) for row in status.collect()] == [(naive(0), naive(1800))]
    gone = [row for row in findings if row["rule"] == "BROKER_NOT_READABLE"]
    assert {row["subject"]: row["ended_at"] for row in gone} == dict.fromkeys(("b:0", "a:1"), naive(14_385))
    topics = warehouse.read(spark, GROUP_STATUS).where("consumer_group = 'g'").select("deleted_topics").collect()
    assert [row.deleted_topics for row in topics if row.deleted_topics] == [[("t", naive(14_385))]]


@pytest.mark.slow
def test_a_run_of_one_group_has_the_same_findings(spark: SparkSession, loaded: Warehouse) -> None:
    findings = run(spark, loaded, RunSpec(hour(3), "c", "g"), Configuration()).findings
    assert {rule for rule, *_ in hits(findings)} == {"UNOBSERVED", "BROKER_NOT_READABLE"}
    assert {row["consumer_group"] for row in findings} == {"g"}


@pytest.mark.slow
def test_steps_are_late_if_what_was_seen_before_them_came_late(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    """The early snapshots are in no window of steps that were audited; those of the next hour change nothing."""
    meta, *lines = recorded()
    at_half_past_two = to_micros(at(16_200)) // 1000
    early = [line for line in lines if json.loads(line)["at"] < to_micros(at(HOUR)) // 1000]
    following = [json.dumps(json.loads(line) | {"at": at_half_past_two}) for line in lines[-3:]]
    ingest_lines(spark, warehouse, tmp_path / "late.jsonl", [meta, *lines[len(early) :]])
    everything, two_hours = Interval(at(0), at(5 * HOUR)), Interval(at(2 * HOUR), at(4 * HOUR))
    assert run(spark, warehouse, RunSpec(two_hours), Configuration()).findings == []
    ingest_lines(spark, warehouse, tmp_path / "following.jsonl", [meta, *following])
    assert late_steps(spark, warehouse, Configuration(), everything) == []
    ingest_lines(spark, warehouse, tmp_path / "early.jsonl", [meta, *early])
    late = late_steps(spark, warehouse, Configuration(), everything)
    again = backfill(spark, warehouse, late, Configuration(), with_findings=True)
    assert list(again) == [hour(2), hour(3)]
    assert [{rule for rule, *_ in hits(record.findings)} for record in audited(again).values()] == [
        {"UNOBSERVED"},
        {"UNOBSERVED", "BROKER_NOT_READABLE"},
    ]
    assert late_steps(spark, warehouse, Configuration(), everything) == []


@pytest.mark.slow
def test_maintain_adds_the_sightings_of_all_sources(spark: SparkSession, warehouse: Warehouse) -> None:
    """Snapshots that no ingest has loaded, but for some. (`test_reading.py` sees that maintain makes the table, too;
    `test_run.py` that a run without it says so.)
    """
    rows = healthy_group(range(0, 600, 20), "c1")
    unreadable = route(20, 4, topic="u")
    unreadable["queues"][0]["perm"] = 2
    no_route = route(600, 4) | {"queues": []}
    load(spark, warehouse, rows | {ROUTE_SNAPSHOTS: [*rows[ROUTE_SNAPSHOTS], unreadable, no_route]})
    warehouse.create(spark, [SIGHTINGS])
    kept = {"cluster": "c", "consumer_group": "g", "hour": at(0), "first_at": at(20), "last_at": at(580)}
    append(spark, warehouse, SIGHTINGS, kept)
    further = [*healthy_group([-20, 600], "c1")[MEMBERSHIP_SNAPSHOTS], membership(40, group="d", listed=False)]
    load(spark, warehouse, {MEMBERSHIP_SNAPSHOTS: further})
    maintain(spark, warehouse, timedelta(days=30))
    assert sightings(spark, warehouse) == [
        ("g", -20, -20),
        ("t", 600, 600),
        ("t b 4", 0, 580),
        ("d deleted", 40, 40),
        ("g", 0, 600),
    ]
    findings = hits(run(spark, warehouse, RunSpec(hour(1)), Configuration()).findings)
    assert findings == {("UNOBSERVED", "g", "INFO", "g", HOUR)}
