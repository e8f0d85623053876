"""The whole explanation of a group at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.text.backlog import backlog_of, with_growth
from spark_jobs.show.text.given import GroupStep, Row, holding, last_before
from spark_jobs.show.text.story import GroupStory, TopicStory
from spark_jobs.show.text.views import view_story


def explain(given: GroupStep) -> GroupStory:
    """What is known of the group at the moment; raises `NothingPublishedError` for a topic that it does not have."""
    given = replace(given, progress=[with_growth(row, given.allowed_lag) for row in given.progress])
    topics = sorted({row["topic"] for row in given.intervals}, key=lambda topic: (topic.startswith(RETRY), topic))
    if given.topic is not None:
        check_topic(given, topics)
        topics = [given.topic]
    told = [topic for topic in topics if topic == given.topic or _is_told(given, topic)]
    return GroupStory(
        cluster=given.cluster,
        consumer_group=given.consumer_group,
        at=given.at,
        step=str(given.step),
        topics=[_topic_story(given, topic) for topic in told],
        quiet_topics=[topic for topic in topics if topic not in told],
        findings=_findings(given),
        status=_without_key(given.status) if given.status else None,
    )


def check_topic(given: GroupStep, topics: Sequence[str]) -> None:
    """Raises `NothingPublishedError`, naming the nearest, unless the group's topics hold the one that is asked for."""
    if given.topic is None or given.topic in topics:
        return
    hint = did_you_mean(given.topic, topics) or f"its topics are {', '.join(topics)}"
    raise NothingPublishedError(f"{given.consumer_group} has no topic {given.topic} in {given.step}: {hint}")


def wanted_intervals(intervals: Sequence[Row], given: GroupStep) -> list[Row]:
    """The intervals of which an explanation needs more: those that hold the moment, and the last known before it."""
    wanted: list[Row] = []
    for topic in {row["topic"] for row in intervals}:
        of_topic = [row for row in intervals if row["topic"] == topic]
        held = holding(of_topic, given.at)
        wanted += [row for row in held if row["status"] != "UNOBSERVED"]
        if any(row["status"] == "UNOBSERVED" for row in held) and (before := last_before(of_topic, given.at)):
            wanted.append(before)
    return wanted


def _is_told(given: GroupStep, topic: str) -> bool:
    """Retry topics are, too, if something is wrong there that is more than INFO."""
    wrong = (one for one in given.findings if one["topic"] == topic and one["severity"] != "INFO")
    return not topic.startswith(RETRY) or next(wrong, None) is not None


def _topic_story(given: GroupStep, topic: str) -> TopicStory:
    of_topic = [row for row in given.intervals if row["topic"] == topic]
    held = holding(of_topic, given.at)
    if not held:
        raise NothingPublishedError(f"nothing of {topic} was published at {format_utc(given.at)}")
    progress = [row for row in holding(given.progress, given.at) if row["topic"] == topic]
    views = [view_story(given, of_topic, row, [other for other in held if other is not row]) for row in held]
    return TopicStory(topic, topic.startswith(RETRY), views, backlog_of(progress))


def _findings(given: GroupStep) -> list[dict[str, Any]]:
    """Those of the topics that are told of and of the whole group, the worst first."""
    told = [one for one in given.findings if given.topic is None or one["topic"] in (None, given.topic)]
    told.sort(key=_rank)
    return [_without_key(one) for one in told]


def _rank(finding: Row) -> tuple[object, ...]:
    """What concerns the whole group comes before its topics: it tends to be the cause."""
    severity, topic = WORST_FIRST.index(finding["severity"]), finding["topic"] or ""
    return severity, topic.startswith(RETRY), topic, finding["rule"], finding["start"], finding["subject"]


def _without_key(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("cluster", "consumer_group", "step_start")}
