"""The explanation of one group at one moment, from the published rows of that step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from schemas import (
    ALLOCATIONS,
    FINDINGS,
    GROUP_STATUS,
    MEMBERSHIP_SNAPSHOTS,
    QUEUE_PROGRESS,
    REBALANCE_INTERVALS,
    Table,
)
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.coverage import COMPLETE_SHARE
from spark_jobs.domain.kernel.unseen import by_proxies
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.model.severities import INFO, WORST_FIRST
from spark_jobs.domain.model.statuses import Reason, Status
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.rules import messages_skipped
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.measured import Minutes, SampledBacklog, last_samples, topic_minutes
from spark_jobs.show.rows import GROUP, Row
from spark_jobs.show.status import with_shares
from spark_jobs.show.text.backlog import ViewBacklog, backlog_of, with_growth
from spark_jobs.show.text.intervals import (
    GroupStep,
    IntervalExplanation,
    interval_explanation,
    intervals_at,
    last_before,
)
from spark_jobs.store.read.published import PublishedTables, Scope, check_group, published_tables, run_of_step
from spark_jobs.store.read.stored import Filter, StoredTables, rows

#: Columns that rows of an explanation leave out: they are those of all of it.
STEP_KEY = (*GROUP, "step_start")


@dataclass(frozen=True)
class TopicExplanation:
    """One topic: one view if its hosts agree, else one per broker. `skipped`: messages that offsets jumped over;
    `sampled`: the last sample before the moment, None: the samples are not stored any more, or no backlog is known.
    """

    topic: str
    is_retry: bool
    views: list[IntervalExplanation]
    backlog: ViewBacklog | None
    skipped: int = 0
    sampled: SampledBacklog | None = None


@dataclass(frozen=True)
class GroupExplanation:
    """One group at one moment. `quiet_topics`: retry topics without problems; `findings` (worst first), `roots` (root
    causes at other times) and `status` (None: none in this step) are published rows.
    """

    cluster: str
    consumer_group: str
    at: datetime
    step: Interval
    topics: list[TopicExplanation]
    quiet_topics: list[str]
    findings: list[dict[str, Any]]
    status: dict[str, Any] | None
    roots: list[dict[str, Any]] = field(default_factory=list)


def explain_group(
    stored: StoredTables,
    names: Scope,
    at: datetime,
    topic: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
    complete_share: float = COMPLETE_SHARE,
) -> GroupExplanation:
    """Explains the named group at that moment, with one topic or all; without a cluster the only one that has it. Its
    step as a whole is unknown if less than the complete share of it was observed.

    Raises `NothingPublishedError` for an unknown group, topic, or time.
    """
    progress("looking for the group")
    tables = published_tables(stored)
    moment = Interval(at, at + timedelta(microseconds=1))
    key = check_group(tables, replace(names, interval=moment))
    progress("reading its published tables")
    return explain(_read(tables, moment, key, topic, complete_share))


def _read(
    tables: PublishedTables, moment: Interval, key: tuple[str, str], topic: str | None, complete_share: float
) -> GroupStep:
    """The published rows of one group in one step; of allocations and progress only those of `wanted_intervals`."""
    at, step = moment.start, tables.steps(moment)
    run = run_of_step(tables.stored, step, *key, topic)
    configuration = Configuration.model_validate_json(run["configuration"]) if run else Configuration()
    settings = audit_settings(configuration, *key)
    # For how long a snapshot of the group says how things are.
    holds = timedelta(microseconds=settings.max_gap)

    def read_group(table: Table, *conditions: Filter) -> list[Row]:
        return [*rows(tables.read(table, Scope(moment, *key), None, conditions))]

    intervals = read_group(REBALANCE_INTERVALS)
    # The intervals of all topics begin at few moments: Delta skips files by them.
    starts = sorted({row["interval_start"] for row in wanted_intervals(intervals, at)})
    at_starts = Filter("interval_start", "IN", starts)
    is_proxied = any(row["reason"] == Reason.CONSUMED_THROUGH_PROXY for row in intervals_at(intervals, at))
    return GroupStep(
        *key,
        at,
        step,
        intervals,
        allocations=read_group(ALLOCATIONS, at_starts),
        progress=read_group(QUEUE_PROGRESS, at_starts),
        findings=read_group(FINDINGS),
        status=next(iter(with_shares(tables, read_group(GROUP_STATUS), key[0], complete_share)), None),
        settings=strategy_settings(configuration, *key),
        allowed_lag=settings.thresholds.allowed_lag,
        topic=topic,
        proxies=_proxies(tables.stored, at, key, holds) if is_proxied else {},
        sampled=_sampled(tables, moment, key, holds),
    )


def _sampled(
    tables: PublishedTables, moment: Interval, key: tuple[str, str], holds: timedelta
) -> Mapping[str, SampledBacklog]:
    """By topic its last sample up to the moment, and what the table `backlog` says of its minute."""
    samples = last_samples(tables.stored, key, moment.start, holds)
    minutes = topic_minutes(tables, Scope(moment, *key)) if samples else {}
    return {
        topic: replace(sampled, at_least=_at_least(minutes.get((*key, topic)), sampled))
        for topic, sampled in samples.items()
    }


def _at_least(minutes: Minutes | None, sampled: SampledBacklog) -> int | None:
    place = -1 if minutes is None else minutes.at(sampled.sampled_at)
    if minutes is None or place < 0 or not minutes.unknown_queues[place]:
        return None
    messages = minutes.messages[place]
    return int(messages) if messages > sampled.messages else None


def _proxies(stored: StoredTables, at: datetime, key: tuple[str, str], holds: timedelta) -> dict[str, Sequence[str]]:
    """By proxy the client ids that it listed last, as long as a snapshot holds; none if only results are here."""
    if not stored.exists(MEMBERSHIP_SNAPSHOTS):
        return {}
    conditions = [
        *(Filter(name, "=", value) for name, value in zip(GROUP, key, strict=True)),
        *(Filter("captured_at", ">", at - holds), Filter("captured_at", "<=", at)),
    ]
    snapshots = rows(stored.read(MEMBERSHIP_SNAPSHOTS, ("broker_name", "captured_at", "connections"), conditions))
    last = by_proxies({row["broker_name"]: row for row in sorted(snapshots, key=itemgetter("captured_at"))})
    return {
        name: [connection["client_id"] for connection in row["connections"] or ()] for name, row in sorted(last.items())
    }


def explain(group: GroupStep) -> GroupExplanation:
    """Explain the group from its rows; quiet retry topics only if named. Raises `NothingPublishedError` for a topic."""
    current = [row for row in group.findings if row["started_at"] <= group.at < row["ended_at"]]
    group = replace(group, progress=_progress(group, current))
    topics = sorted({row["topic"] for row in group.intervals}, key=lambda topic: (topic.startswith(RETRY), topic))
    if group.topic is not None:
        if group.topic not in topics:
            hint = did_you_mean(group.topic, topics) or f"its topics are {', '.join(topics)}"
            raise NothingPublishedError(f"{group.consumer_group} has no topic {group.topic} in {group.step}: {hint}")
        topics = [group.topic]
    with_problems = {row["topic"] for row in current if row["severity"] != INFO}
    shown = [topic for topic in topics if topic == group.topic or topic in with_problems or not topic.startswith(RETRY)]
    # Of the whole group and of the topic that is asked for (of all topics without one).
    findings = sorted((row for row in current if group.topic is None or row["topic"] in (None, group.topic)), key=_rank)
    missing = {row["root_finding_id"] for row in findings} - {row["finding_id"] for row in findings}
    return GroupExplanation(
        cluster=group.cluster,
        consumer_group=group.consumer_group,
        at=group.at,
        step=group.step,
        topics=[_topic_explanation(group, topic) for topic in shown],
        quiet_topics=[topic for topic in topics if topic not in shown],
        findings=[*map(_without_key, findings)],
        roots=[_without_key(row) for row in group.findings if row["finding_id"] in missing and row["severity"] != INFO],
        status=_without_key(group.status) if group.status else None,
    )


def wanted_intervals(intervals: Sequence[Row], at: datetime) -> list[Row]:
    """The intervals to read: those at the moment, and the last observed one before an unobserved one."""
    wanted: list[Row] = []
    for topic_intervals in by_key(intervals, itemgetter("topic")).values():
        current = intervals_at(topic_intervals, at)
        observed = [row for row in current if row["status"] != Status.UNOBSERVED]
        before = last_before(topic_intervals, at) if len(observed) < len(current) else None
        wanted += [*observed, before] if before else observed
    return wanted


def _topic_explanation(group: GroupStep, topic: str) -> TopicExplanation:
    topic_intervals = [row for row in group.intervals if row["topic"] == topic]
    current = intervals_at(topic_intervals, group.at)
    if not current:
        raise NothingPublishedError(f"nothing of {topic} was published at {format_utc(group.at)}")
    progress = [row for row in intervals_at(group.progress, group.at) if row["topic"] == topic]
    views = [interval_explanation(group, topic_intervals, progress, row) for row in current]
    skipped = sum(
        int(measure["value"])
        for row in group.findings
        if (row["rule"], row["topic"]) == (messages_skipped.RULE.name, topic)
        and any(view["interval_start"] <= row["started_at"] < view["interval_end"] for view in current)
        for measure in row["evidence"]["measures"]
        if measure["name"] == messages_skipped.TOGETHER
    )
    # The offsets that brokers have of a group that broadcasts are from before.
    broadcasts = any(row["reason"] == Reason.BROADCASTING for row in current)
    sampled = None if broadcasts else group.sampled.get(topic)
    return TopicExplanation(topic, topic.startswith(RETRY), views, backlog_of(progress), skipped, sampled)


_queue = itemgetter("topic", "broker_name", "queue_id")


def _progress(group: GroupStep, findings: Sequence[Row]) -> list[Row]:
    """Its progress, with `GROWING`; `stored`: the queue's backlog at the start and end of one of the findings."""
    queues = (queue for row in findings for queue in row["evidence"]["queues"] or ())
    stored = {
        _queue(queue): (queue["backlog_start"], queue["backlog_end"])
        for queue in queues
        if queue["backlog_end"] is not None
    }
    rows_with_stored = ({**row, "stored": stored.get(_queue(row))} for row in group.progress)
    return [with_growth(row, group.allowed_lag) for row in rows_with_stored]


def _rank(finding: Row) -> tuple[object, ...]:
    """Sorts by severity; findings of the whole group come before those of its topics: they tend to be the cause."""
    severity, topic = WORST_FIRST.index(finding["severity"]), finding["topic"] or ""
    return severity, topic.startswith(RETRY), topic, finding["rule"], finding["started_at"], finding["subject"]


def _without_key(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in STEP_KEY}
