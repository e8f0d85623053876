"""A group that brokers list, and whose members no broker returned, from the recording to the finding."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import CAPTURE_CALLS, GROUP_STATUS, QUALITY_RESULTS
from spark_jobs.config import Configuration
from spark_jobs.operate.verify import verify
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.store.warehouse import Warehouse
from tests.spark.jobs.test_sightings import hits, hour, ingest_lines, line, stats_body
from tests.support.fakes import TIMED_OUT, connections, route


def called(second: int, group: str, broker: str, fate: str, error: str | None = None) -> str:
    body = {"fate": fate, "tookMs": 3000, **({"error": error} if error else {})}
    return line("call", second, json.dumps(body), called=broker, request="connection", subject=group)


def recorded() -> list[str]:
    """From 10:20 to 10:30 group `g` on broker `a`, which never answers about `h`; a proxy does not either."""
    lines = ['{"kind":"meta","cluster":"c"}']
    for second in range(1200, 1800, 20):
        lines += [line("route", second, route("a"), topic="t"), called(second, "g", "a", "ANSWERED")]
        lines.append(line("stats", second, stats_body(a=(100,)), group="g", topic="t"))
        lines.append(line("connection", second, connections("t", "c1"), group="g", broker="a"))
        lines.append(called(second, "h", "a", "TIMED_OUT" if second < 1240 else "NOT_ASKED", TIMED_OUT))
        lines.append(called(second, "h", "proxy p:8080", "REFUSED", "RemotingConnectException connect failed"))
    return lines


@pytest.mark.slow
@pytest.mark.usefixtures("tables", "filled_tables")
def test_a_group_that_was_never_recorded_is_an_error_and_so_it_is_when_it_is_audited_again(
    spark: SparkSession, warehouse: Warehouse, tmp_path: Path
) -> None:
    ingest_lines(spark, warehouse, tmp_path / "recording.jsonl", recorded())
    result = run(spark, warehouse, RunSpec(hour(0)), Configuration())
    assert hits(result.findings) == {
        ("UNOBSERVED", "g", "INFO", "g", 1840.0),
        ("UNOBSERVED", "h", "ERROR", "h", 1200.0),
    }
    assert result.severities["ERROR"] == 1
    (of_h,) = (row for row in result.findings if row["consumer_group"] == "h")
    assert of_h["cause"] == "NOT_ANSWERED"
    assert of_h["advice"].endswith(
        f"a did not answer the request for the group's connections from 2026-03-01T10:20Z on ({TIMED_OUT})."
    )
    (status,) = warehouse.read(spark, GROUP_STATUS).where("consumer_group = 'h'").collect()
    names = ("worst_severity", "finding_count", "member_count", "backlog_end")
    assert [status[name] for name in names] == ["ERROR", 1, None, None]
    assert result.run["source_versions"]["capture_calls"] == warehouse.version(spark, CAPTURE_CALLS)
    assert warehouse.read(spark, QUALITY_RESULTS).where("NOT success AND severity = 'critical'").isEmpty()
    assert verify(spark, warehouse, result.run["run_id"]).differs == {}


@pytest.mark.slow
@pytest.mark.usefixtures("tables", "filled_tables")
def test_nothing_but_calls_is_something_to_report(spark: SparkSession, warehouse: Warehouse, tmp_path: Path) -> None:
    lines = [text for text in recorded() if '"kind": "call"' in text or '"meta"' in text]
    ingest_lines(spark, warehouse, tmp_path / "recording.jsonl", lines)
    one_group = RunSpec(hour(0), consumer_group="h")
    result = run(spark, warehouse, one_group, Configuration())
    assert hits(result.findings) == {("UNOBSERVED", "h", "ERROR", "h", 1200.0)}
