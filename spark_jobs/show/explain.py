"""The explanation of one group at one moment, from the published rows of that step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import INFO, WORST_FIRST
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.rows import Row
from spark_jobs.show.text.backlog import backlog_of, with_growth
from spark_jobs.show.text.explanation import GroupExplanation, GroupStep, TopicExplanation, holding, last_before
from spark_jobs.show.text.intervals import interval_explanation
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
    stored: StoredTables, request: ExplainRequest, progress: Callable[[str], None] = lambda _: None
) -> GroupExplanation:
    """What is known of the group then; raises `NothingPublishedError` for an unknown group, topic, or time."""
    progress("looking for the group")
    tables = published_tables(stored)
    moment = Interval(request.at, request.at + timedelta(microseconds=1))
    cluster = check_group(tables, moment, request.cluster, request.consumer_group)
    progress("reading its published tables")
    return explain(_read(tables, moment, replace(request, cluster=cluster)))


def _read(tables: PublishedTables, moment: Interval, request: ExplainRequest) -> GroupStep:
    """One group and one step; of allocations and progress only the intervals that matter."""

    def of_group(table: Table, *conditions: Filter) -> list[Row]:
        found = tables.read(table, moment, None, request.cluster, request.consumer_group, conditions)
        return [*rows(found)]

    intervals, step = of_group(REBALANCE_INTERVALS), tables.steps(moment)
    key, configuration = (str(request.cluster), request.consumer_group), _configuration(tables, step, request)
    group = GroupStep(
        *key,
        request.at,
        step,
        intervals,
        settings=strategy_settings(configuration, *key),
        allowed_lag=audit_settings(configuration, *key).thresholds.allowed_lag,
        topic=request.topic,
    )
    # The intervals of all topics begin at few moments: these can be looked for in the files' statistics.
    starts = sorted({row["interval_start"] for row in wanted_intervals(intervals, group)})
    of_intervals = Filter("interval_start", "IN", starts)
    return replace(
        group,
        allocations=of_group(ALLOCATIONS, of_intervals),
        progress=of_group(QUEUE_PROGRESS, of_intervals),
        findings=of_group(FINDINGS, Filter("start", "<=", request.at), Filter("end", ">", request.at)),
        status=next(iter(of_group(GROUP_STATUS)), None),
    )


def _configuration(tables: PublishedTables, step: Interval, request: ExplainRequest) -> Configuration:
    """What was configured for the group in the newest run that published the step for it, of all its topics."""
    run = run_of_step(tables.stored, step, str(request.cluster), request.consumer_group, request.topic)
    return Configuration.model_validate_json(run["configuration"]) if run else Configuration()


def explain(group: GroupStep) -> GroupExplanation:
    """What is known of the group at the moment; raises `NothingPublishedError` for a topic that it does not have."""
    group = replace(group, progress=[with_growth(row, group.allowed_lag) for row in group.progress])
    topics = sorted({row["topic"] for row in group.intervals}, key=lambda topic: (topic.startswith(RETRY), topic))
    if group.topic is not None:
        _check_topic(group, topics)
        topics = [group.topic]
    told = [topic for topic in topics if topic == group.topic or _is_told(group, topic)]
    return GroupExplanation(
        cluster=group.cluster,
        consumer_group=group.consumer_group,
        at=group.at,
        step=str(group.step),
        topics=[_topic_explanation(group, topic) for topic in told],
        quiet_topics=[topic for topic in topics if topic not in told],
        findings=_findings(group),
        status=_without_key(group.status) if group.status else None,
    )


def _check_topic(group: GroupStep, topics: Sequence[str]) -> None:
    """Raises `NothingPublishedError`, naming the nearest, unless the group's topics hold the one that is asked for."""
    if group.topic is None or group.topic in topics:
        return
    hint = did_you_mean(group.topic, topics) or f"its topics are {', '.join(topics)}"
    raise NothingPublishedError(f"{group.consumer_group} has no topic {group.topic} in {group.step}: {hint}")


def wanted_intervals(intervals: Sequence[Row], group: GroupStep) -> list[Row]:
    """The intervals of which an explanation needs more: those that hold the moment, and the last known before it."""
    wanted: list[Row] = []
    for topic in {row["topic"] for row in intervals}:
        of_topic = [row for row in intervals if row["topic"] == topic]
        held = holding(of_topic, group.at)
        wanted += [row for row in held if row["status"] != Status.UNOBSERVED]
        if any(row["status"] == Status.UNOBSERVED for row in held) and (before := last_before(of_topic, group.at)):
            wanted.append(before)
    return wanted


def _is_told(group: GroupStep, topic: str) -> bool:
    """Retry topics are, too, if something is wrong there that is more than INFO."""
    wrong = (row for row in group.findings if row["topic"] == topic and row["severity"] != INFO)
    return not topic.startswith(RETRY) or next(wrong, None) is not None


def _topic_explanation(group: GroupStep, topic: str) -> TopicExplanation:
    of_topic = [row for row in group.intervals if row["topic"] == topic]
    held = holding(of_topic, group.at)
    if not held:
        raise NothingPublishedError(f"nothing of {topic} was published at {format_utc(group.at)}")
    progress = [row for row in holding(group.progress, group.at) if row["topic"] == topic]
    views = [interval_explanation(group, of_topic, row, [other for other in held if other is not row]) for row in held]
    return TopicExplanation(topic, topic.startswith(RETRY), views, backlog_of(progress))


def _findings(group: GroupStep) -> list[dict[str, Any]]:
    """Those of the topics that are told of and of the whole group, the worst first."""
    told = [row for row in group.findings if group.topic is None or row["topic"] in (None, group.topic)]
    told.sort(key=_rank)
    return [_without_key(row) for row in told]


def _rank(finding: Row) -> tuple[object, ...]:
    """What concerns the whole group comes before its topics: it tends to be the cause."""
    severity, topic = WORST_FIRST.index(finding["severity"]), finding["topic"] or ""
    return severity, topic.startswith(RETRY), topic, finding["rule"], finding["start"], finding["subject"]


def _without_key(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("cluster", "consumer_group", "step_start")}
