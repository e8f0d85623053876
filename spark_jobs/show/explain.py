"""Reads what an explanation needs: the published rows of one group and one step, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, audit_settings, settings_for
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.text.given import GroupStep, Row
from spark_jobs.show.text.group import check_topic, explain, wanted_intervals
from spark_jobs.show.text.story import GroupStory
from spark_jobs.store.read.published import PublishedTables, check_group, published_tables, run_of_step
from spark_jobs.store.read.stored import Filter, StoredTables, rows


@dataclass(frozen=True)
class ExplainRequest:
    """Which group is asked for, at which moment; without a cluster the only one that has it, without a topic all."""

    consumer_group: str
    at: datetime
    cluster: str | None = None
    topic: str | None = None


def explain_group(
    stored: StoredTables, question: ExplainRequest, progress: Callable[[str], None] = lambda _: None
) -> GroupStory:
    """What is known of the group then; raises `NothingPublishedError` for an unknown group, topic, or time."""
    progress("looking for the group")
    tables = published_tables(stored)
    moment = Interval(question.at, question.at + timedelta(microseconds=1))
    cluster = check_group(tables, moment, question.cluster, question.consumer_group)
    progress("reading its published tables")
    return explain(_read(tables, moment, replace(question, cluster=cluster)))


def _read(tables: PublishedTables, moment: Interval, question: ExplainRequest) -> GroupStep:
    """One group and one step; of allocations and progress only the intervals that matter."""

    def of_group(table: Table, *conditions: Filter) -> list[Row]:
        found = tables.read(table, moment, None, question.cluster, question.consumer_group, conditions)
        return [*rows(found)]

    intervals, step = of_group(REBALANCE_INTERVALS), tables.steps(moment)
    key, configuration = (str(question.cluster), question.consumer_group), _configuration(tables, step, question)
    given = GroupStep(
        *key,
        question.at,
        step,
        intervals,
        settings=settings_for(configuration, *key),
        allowed_lag=audit_settings(configuration, *key).thresholds.allowed_lag,
        topic=question.topic,
    )
    check_topic(given, sorted({row["topic"] for row in intervals}))
    of_intervals = _of_intervals(wanted_intervals(intervals, given))
    return replace(
        given,
        allocations=of_group(ALLOCATIONS, of_intervals),
        progress=of_group(QUEUE_PROGRESS, of_intervals),
        findings=of_group(FINDINGS, Filter("start", "<=", question.at), Filter("end", ">", question.at)),
        status=next(iter(of_group(GROUP_STATUS)), None),
    )


def _of_intervals(intervals: Sequence[Row]) -> Filter:
    """The intervals of all topics begin at few moments: these can be looked for in the files' statistics."""
    return Filter("interval_start", "IN", sorted({row["interval_start"] for row in intervals}))


def _configuration(tables: PublishedTables, step: Interval, question: ExplainRequest) -> Configuration:
    """What was configured for the group in the newest run that published the step for it, of all its topics."""
    run = run_of_step(tables.stored, step, str(question.cluster), question.consumer_group, question.topic)
    return Configuration.model_validate_json(run["configuration"]) if run else Configuration()
