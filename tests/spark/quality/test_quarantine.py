"""Rows that are set aside: with every reason, once, and never more than a step may lose."""

import json
from dataclasses import replace
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, QUARANTINE, ROUTE_SNAPSHOTS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.config.model import Quality
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import QualityError
from spark_jobs.pipeline.check import check, quality_warnings, set_rejected_aside
from spark_jobs.pipeline.quality.checks import CheckResults, raise_if_critical
from spark_jobs.pipeline.quality.counted import Counted
from spark_jobs.pipeline.run import audit, in_memory
from spark_jobs.pipeline.run_context import RunContext
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import load, membership, offsets, route
from tests.support.times import at

REQUEST = RunSpec(Interval(at(0), at(3600)))
GOOD, OTHER = (100, 90, 1), (100, 91, 1)


class Audited(NamedTuple):
    """One audit, which counts for several runs."""

    context: RunContext
    evaluated: DataFrame
    counted: Counted

    def checked(self, percent: float, run_id: str = "run") -> tuple[CheckResults, list[str], str]:
        """What a run sees that lets this percentage of a step go, and its warnings; why its gate is closed."""
        configuration = Configuration(quality=Quality(max_quarantined_percent=percent))
        context = replace(self.context, configuration=configuration, run_id=run_id)
        set_rejected_aside(context, self.evaluated, self.counted.facts)
        of_sources = check(context, SOURCES, self.counted.facts)
        warnings = quality_warnings(self.counted.facts, of_sources)
        try:
            raise_if_critical(of_sources.results)
        except QualityError as error:
            return of_sources, warnings, str(error)
        return of_sources, warnings, ""


def audited(spark: SparkSession, warehouse: Warehouse) -> Audited:
    context = RunContext.begin(spark, warehouse, REQUEST, Configuration())
    return Audited(context, *audit(context, in_memory))


def quarantine(spark: SparkSession, warehouse: Warehouse) -> list[dict[str, Any]]:
    rows = warehouse.read(spark, QUARANTINE).orderBy("row_key", "quarantine_id").collect()
    return [row.asDict(recursive=True) for row in rows]


def broken(seconds: float, **changes: Any) -> dict[str, Any]:
    """A sample with something wrong."""
    row = offsets(seconds, GOOD)
    return row | {"offsets": [row["offsets"][0] | changes]}


def test_rows_are_set_aside_with_every_reason_and_only_once(spark: SparkSession, warehouse: Warehouse) -> None:
    long_name = "n" * 100_000
    rows = [
        offsets(0, GOOD),
        # Two rules of elements, and one of the row.
        broken(20, broker_name=None, broker_offset=-1) | {"topic": ""},
        # The same twice: one is used. Two that differ: none is, as nobody knows which is true.
        *[offsets(40, GOOD)] * 2,
        offsets(60, GOOD),
        offsets(60, OTHER),
        # A broken one takes nothing from a good one with its key; the same broken one twice is two rows.
        offsets(80, GOOD),
        *[broken(80, queue_id=65536)] * 2,
        broken(100, broker_name=long_name),
        # They differ in microseconds, of which their text shows nothing.
        *[broken(120 + microseconds / 1_000_000, queue_id=65536) for microseconds in (1, 2)],
    ]
    load(spark, warehouse, {OFFSET_SNAPSHOTS: rows})
    _, first, _ = audited(spark, warehouse).checked(100)
    found = quarantine(spark, warehouse)
    assert {(_second(row), tuple(sorted(row["reasons"]))) for row in found} == {
        (20, ("OFFSETS_ARE_POSSIBLE", "QUEUES_ARE_NAMED", "TOPIC_IS_A_NAME")),
        (40, ("KEYS_ARE_UNIQUE",)),
        (60, ("KEYS_ARE_UNIQUE",)),
        (80, ("QUEUES_ARE_NAMED",)),
        (100, ("QUEUES_ARE_NAMED",)),
        (120, ("QUEUES_ARE_NAMED",)),
    }
    assert len(found) == len(rows) - 3 == 9
    assert len({row["quarantine_id"] for row in found}) == 9
    assert len({row["content"] for row in found if _second(row) == 120}) == 1
    assert {(row["source_table"], row["run_id"]) for row in found} == {("offset_snapshots", "run")}
    assert json.loads(next(row["content"] for row in found if _second(row) == 20))["offsets"][0]["broker_name"] is None
    (cut,) = (row for row in found if row["detail"])
    # The row as JSON is the name and what a good row is.
    assert cut["detail"].startswith("cut: the row has so many characters: 100")
    assert (_second(cut), len(cut["content"])) == (100, 65536)
    _, again, _ = audited(spark, warehouse).checked(100, "again")
    assert quarantine(spark, warehouse) == found
    for warnings in (first, again):
        assert "9 rows of offset_snapshots are in quarantine" in warnings


def _second(row: dict[str, Any]) -> int:
    time: str = json.loads(row["row_key"])["captured_at"]
    return int(time[14:16]) * 60 + int(time[17:19])


def test_lost_rows_close_the_gate_and_brokers_that_are_not_the_hosts_do_not(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    """Of the step's 50 snapshots one breaks a rule: 2 %. Rows of brokers that the route lacks are used."""
    times = [72 * number for number in range(50)]
    rows = [offsets(second, GOOD) for second in times[1:]] + [broken(0, consumer_offset=-5)]
    of_others = {MEMBERSHIP_SNAPSHOTS: [membership(0, "c1", broker="b2")], ROUTE_SNAPSHOTS: [route(0, 4)]}
    load(spark, warehouse, {OFFSET_SNAPSHOTS: rows} | of_others)
    run = audited(spark, warehouse)
    _, warnings, why_not = run.checked(2.0)
    assert why_not == ""
    assert any("brokers_are_the_hosts failed" in one for one in warnings)
    closed, _, why = run.checked(1.9)
    key = '{"cluster":"c","consumer_group":"g","topic":"t","captured_at":"2026-03-01T10:00:00.000Z"}'
    assert why == (
        "the data-quality gate is closed, nothing was published:\n"
        "offset_snapshots: few_rows_are_quarantined failed in the step 2026-03-01T10:00Z, cluster c: 2\n"
        f"  offset_snapshots: offsets_are_possible failed in the step 2026-03-01T10:00Z: 1 rows, for example {key}"
    )
    # What each of the rows breaks is there with its key, and it is in quarantine all the same.
    (one,) = (one for one in closed.results if one.expectation == "offsets_are_possible")
    assert (one.success, one.severity, one.unexpected_count, one.unexpected_percent) == (False, "warning", 1, 2.0)
    assert [json.loads(key)["captured_at"] for key in one.examples] == ["2026-03-01T10:00:00.000Z"]
    assert [row["source_table"] for row in quarantine(spark, warehouse)] == ["offset_snapshots"]
