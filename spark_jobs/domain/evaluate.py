"""The kernel: what was recorded of one consumer group → everything that its steps publish."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby

import numpy as np

from spark_jobs.domain.kernel.as_shown import with_locks, with_settling
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval, Switch
from spark_jobs.domain.kernel.backlog import TopicBacklog, topic_backlogs
from spark_jobs.domain.kernel.coverage import CoverageRow, group_coverage
from spark_jobs.domain.kernel.group_spans import GroupSpans, group_spans
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.progress import topic_progress
from spark_jobs.domain.kernel.removed_queues import gone_topics
from spark_jobs.domain.kernel.timeline import StepTimeline
from spark_jobs.domain.kernel.triggers import expired_at, rebalances, switches, with_moves
from spark_jobs.domain.model.finding import Finding, unconsumed_times
from spark_jobs.domain.model.history import DEAD_LETTERS, RETRY, GroupHistory, OffsetSamples
from spark_jobs.domain.model.series import Timed
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow
from spark_jobs.domain.rocketmq.pop import REVIVE_GROUP
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.findings import findings
from spark_jobs.domain.status.capacity import GroupInStep
from spark_jobs.domain.status.group_status import GroupStatus, group_status
from spark_jobs.domain.status.strategy_comparison import OtherStrategies, StrategyComparison, strategy_comparison


@dataclass(frozen=True)
class EvaluatedStep:
    """One step of one group; intervals, allocations and progress are those of `step`. `status` None: no interval."""

    step: AuditedStep
    findings: Sequence[Finding]
    status: GroupStatus | None
    strategies: Sequence[StrategyComparison] = ()
    backlogs: Sequence[TopicBacklog] = ()

    @cached_property
    def coverage(self) -> CoverageRow:
        """How much of the step was observed."""
        return group_coverage(self.step)


def evaluate(
    history: GroupHistory,
    configured: StrategySettings,
    settings: AuditSettings,
    start: int,
    end: int,
    advice_in_numbers: Callable[[AuditedStep, StrategySettings, GroupInStep], str | None] = lambda *_: None,
) -> Iterator[EvaluatedStep]:
    """One per audit step of `[start, end)`, microseconds on the grid, of which the history knows anything.

    A step depends on the snapshots of its own window only, and on what was seen for `settings.sightings` before it.
    `advice_in_numbers`: as for `group_status`. Raises nothing that a snapshot could cause.
    """
    replays, other_strategies = Replays(configured), OtherStrategies(configured)
    for step_start in range(start, end, settings.step):
        step = audited_step(history, replays, settings, step_start)
        if step.intervals or step.memberships or step.client_states or _is_known_otherwise(step):
            step_findings = findings(step, RULES)
            backlogs = topic_backlogs(step, unconsumed_times(step_findings))
            in_numbers = partial(advice_in_numbers, step, configured)
            status = group_status(step, step_findings, backlogs, in_numbers)
            yield EvaluatedStep(step, step_findings, status, strategy_comparison(step, other_strategies), backlogs)


def _is_known_otherwise(step: AuditedStep) -> bool:
    """Captured before its window: that nobody captures the group any more is worth saying. Brokers list the group, and
    did not answer who its members are. Or a group without members and intervals, of which only the offsets tell.
    """
    is_missing = step.history.was_there_before(step.window, step.settings) or bool(step.unanswered())
    return is_missing or step.history.consumer_group == REVIVE_GROUP


def audited_step(history: GroupHistory, replays: Replays, settings: AuditSettings, step_start: int) -> AuditedStep:
    """The step replayed and measured. `replays` is the group's own: it knows the states of the steps before."""
    window = settings.window(step_start)
    settings = as_recorded(history, window, settings)
    spans = group_spans(history, window, settings)
    absences = gone_topics(history, spans.routes, spans.memberships, window, settings)
    serving = {topic: series for topic, series in history.serving.items() if topic in spans.routes}
    switched = {topic: switches(series, window, absences.get(topic, ())) for topic, series in serving.items()}
    timeline = StepTimeline(spans, window, settings, replays, history.clients)
    by_topic = {
        topic: _with_changes(list(of_topic), history, window, settings, switched.get(topic, ()))
        for topic, of_topic in groupby(timeline.intervals(), key=lambda interval: interval.topic)
    }
    intervals = [interval for of_topic in by_topic.values() for interval in of_topic]
    unread = _unread(history, spans, window)
    return AuditedStep(
        history=history,
        window=window,
        settings=settings,
        intervals=intervals,
        progress=[
            progress
            for topic, of_topic in by_topic.items()
            for progress in topic_progress(
                of_topic,
                history.offsets.get(topic),
                window,
                settings,
                is_filtered=topic in spans.filtered,
                unread=unread.get(topic),
                topic=history.topics.get(topic),
            )
        ],
        rebalances=rebalances(intervals, settings),
        memberships=spans.memberships,
        routes=spans.routes,
        client_states=spans.clients,
        switches=switched,
        deleted=spans.deleted,
        deleted_topics=spans.deleted_topics,
        gone_topics=absences,
        replays=replays,
        unread=unread,
    )


def _unread(history: GroupHistory, spans: GroupSpans, window: StepWindow) -> Mapping[str, OffsetSamples]:
    """By topic, samples of those of which brokers report no offsets of the group: what is produced is in the topics'
    own snapshots. Consume stats leave out a topic that the broker's subscription of the group lacks, and one of which
    the group never committed an offset (`AdminBrokerProcessor.getConsumeStats`).
    """
    ordinary = (name for name in spans.subscribed - spans.offset_topics if not name.startswith((RETRY, DEAD_LETTERS)))
    read = ((topic, history.topics[topic]) for topic in sorted(ordinary) if topic in history.topics)
    return {
        topic: samples.without_commits for topic, samples in read if samples.any_inside(window.read_from, window.end)
    }


def _with_changes(
    of_topic: Sequence[RebalanceInterval],
    history: GroupHistory,
    window: StepWindow,
    settings: AuditSettings,
    switched: Sequence[Switch],
) -> list[RebalanceInterval]:
    """The intervals of one topic with their moves, with the time until clients follow the route, and with locks.
    Members and routes are asked for one after the other, so a switch may show in the members a collection interval
    before or after it shows in the route.
    """
    expired = partial(expired_at, history.clients, window, settings.cadence)

    def switched_at(at: int) -> set[str]:
        served = (switch for switch in switched if switch.old and switch.new)
        return {switch.broker_name for switch in served if abs(switch.at - at) <= settings.cadence}

    moved = with_moves(of_topic, window.observed_from, expired, switched_at)
    return list(with_locks(with_settling(moved, history.clients, settings), history.clients, settings))


#: So many times between two snapshots of one thing, and this part of all times alike, show how often a recorder takes
#: them: neither a broker that answers now and then, nor a recording that has just begun.
_ENOUGH, _PART = 10, 0.9
#: Two times are alike if they differ by no more than this part.
_TOLERANCE = 0.25


def as_recorded(history: GroupHistory, window: StepWindow, settings: AuditSettings) -> AuditSettings:
    """The settings with the interval that the snapshots of the window show, if it is far from the configured one."""
    polled: list[Timed] = [*history.memberships.values(), *history.routes.values(), *history.offsets.values()]
    inside = [(series, series.inside(window.read_from, window.end)) for series in polled]
    of_series = [series.distances[seen.start : max(seen.stop - 1, seen.start)] for series, seen in inside]
    if max(map(len, of_series), default=0) < _ENOUGH:
        return settings
    between = np.sort(np.concatenate(of_series))
    usual = int(between[(len(between) - 1) // 2] + between[len(between) // 2]) / 2  # the median
    if settings.is_about(usual):  # as mostly
        return settings
    is_alike = np.abs(between - usual) <= _TOLERANCE * usual
    if is_alike.mean() < _PART:
        return settings
    return settings.recorded_every(max(round(usual / SECOND), 1) * SECOND)
