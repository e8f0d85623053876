"""Reads what an explanation needs: the published rows of one group and one step, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from schemas import ALLOCATIONS, AUDIT_RUNS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, GroupSettings, settings_for
from spark_jobs.domain.intervals import Interval
from spark_jobs.explain.given import GroupStep, Row
from spark_jobs.explain.group import check_topic, explain, wanted_intervals
from spark_jobs.explain.story import GroupStory
from spark_jobs.publish.published import PublishedTables, check_group, published_tables
from spark_jobs.warehouse import Warehouse


@dataclass(frozen=True)
class Question:
    """Which group is asked for, at which moment; without a cluster the only one that has it, without a topic all."""

    consumer_group: str
    at: datetime
    cluster: str | None = None
    topic: str | None = None


def explain_group(
    spark: SparkSession, warehouse: Warehouse, question: Question, progress: Callable[[str], None] = lambda _: None
) -> GroupStory:
    """What is known of the group then; raises `NothingPublishedError` for an unknown group, topic, or time."""
    tables = published_tables(spark, warehouse)
    moment = Interval(question.at, question.at + timedelta(microseconds=1))
    progress("looking for the group")
    cluster = check_group(tables, moment, question.cluster, question.consumer_group)
    progress("reading what was published of it")
    return explain(_read(tables, moment, replace(question, cluster=cluster)))


def _read(tables: PublishedTables, moment: Interval, question: Question) -> GroupStep:
    """One group and one step; of allocations and progress only the intervals that matter."""

    def of_group(table: Table) -> DataFrame:
        return tables.read(table, moment, question.cluster, question.consumer_group)

    intervals, step, at = _rows(of_group(REBALANCE_INTERVALS)), tables.steps(moment), F.lit(question.at)
    settings = _settings(tables, step, question)
    given = GroupStep(str(question.cluster), question.consumer_group, question.at, step, intervals, settings=settings)
    given = replace(given, topic=question.topic)
    check_topic(given, sorted({row["topic"] for row in intervals}))
    of_intervals = _of_intervals(wanted_intervals(intervals, given))
    return replace(
        given,
        allocations=_rows(of_group(ALLOCATIONS).where(of_intervals)),
        progress=_rows(of_group(QUEUE_PROGRESS).where(of_intervals)),
        findings=_rows(of_group(FINDINGS).where((F.col("start") <= at) & (at < F.col("end")))),
        status=next(iter(_rows(of_group(GROUP_STATUS))), None),
    )


def _of_intervals(intervals: Sequence[Row]) -> Column:
    """The intervals of all topics begin at few moments: these can be looked for in the files' statistics."""
    return F.col("interval_start").isin(sorted({row["interval_start"] for row in intervals}))


def _settings(tables: PublishedTables, step: Interval, question: Question) -> GroupSettings:
    """What was configured for the group in the newest run that published the step for it, of all its topics."""
    runs = tables.warehouse.read(tables.spark, AUDIT_RUNS).where(
        (F.col("outcome") == "published")
        & (F.col("interval_start") <= F.lit(step.start))
        & (F.col("interval_end") >= F.lit(step.end))
        & F.coalesce(F.col("cluster") == F.lit(question.cluster), F.lit(True))
        & F.coalesce(F.col("consumer_group") == F.lit(question.consumer_group), F.lit(True))
        & F.coalesce(F.col("topic") == F.lit(question.topic), F.col("topic").isNull())
    )
    newest = runs.orderBy(F.desc("finished_at"), "run_id").select("configuration").head()
    configuration = Configuration.model_validate_json(newest.configuration) if newest else Configuration()
    return settings_for(configuration, str(question.cluster), question.consumer_group)


def _rows(frame: DataFrame) -> list[Row]:
    return [_aware(row.asDict(recursive=True)) for row in frame.collect()]


def _aware(value: Any) -> Any:
    """The value with its times in UTC: collected ones have no zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, dict):
        return {name: _aware(one) for name, one in value.items()}
    return [_aware(one) for one in value] if isinstance(value, list) else value
