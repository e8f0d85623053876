"""Thresholds that fit what a group usually does, by what was published of it. Times are microseconds."""

from collections.abc import Callable, Collection, Iterable, Sequence
from math import ceil, inf, isfinite
from operator import ge, gt
from typing import NamedTuple

from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import HOUR, SECOND
from spark_jobs.domain.rules import (
    consumer_lagging,
    flapping_member,
    load_imbalance,
    producer_skew,
    retention_risk,
    standing,
)
from spark_jobs.domain.rules.rebalancing import REBALANCE_STORM

#: A suggestion is what this part of the group's values stayed within, times the margin.
QUANTILE, MARGIN = 0.95, 1.25
#: Of less audited time nothing is suggested; microseconds.
LEAST = 3 * 24 * HOUR
_STOPPED = (standing.CONSUMER_STOPPED.name, standing.CONSUMER_STALLED.name, retention_risk.RULE.name)
#: Of a finding: the start of its step, and how high it is.
_Height = tuple[int, float]


class Suggestion(NamedTuple):
    """A value for a threshold, what the group's values stayed within, and how many findings it would keep and drop."""

    key: str
    value: float
    usual: float
    kept: int
    dropped: int


def suggestions(
    steps: Sequence[int],
    findings: Sequence[PublishedFinding],
    lags: Sequence[int],
    rebalances: Collection[tuple[str, int]],
    current: Thresholds,
) -> list[Suggestion]:
    """The thresholds of a group to raise; none that drops nothing, or that would hide a queue without progress.

    `lags`: `lag_max` of queues with progress; `rebalances`: topic and time of those that moved queues.
    """
    within = current.storm_seconds * SECOND
    reported = [finding for finding in findings if finding.finding.silenced_because is None]

    def storm(finding: Finding) -> float | None:
        if finding.rule != REBALANCE_STORM.name:
            return None
        during = ((topic, at) for topic, at in rebalances if finding.started_at <= at <= finding.ended_at)
        return _most_within(during, within)

    def by_step(key: str, height: Callable[[Finding], float | None], digits: int = 0) -> Suggestion | None:
        heights = _heights(reported, height)
        greatest = dict(sorted(heights))
        return _suggestion(key, [greatest.get(at, 0.0) for at in steps], heights, current, digits=digits)

    lagging, below = _heights(reported, _lagging), _least_stopped(findings)
    candidates = (
        _suggestion("allowed_lag", lags, lagging, current, keeps=gt, below=below),
        by_step("skew_ratio", _skew, digits=1),
        by_step("storm_rebalances", storm),
        by_step("flapping_times", _flapping),
    )
    return [suggestion for suggestion in candidates if suggestion is not None]


def _suggestion(
    key: str,
    values: Sequence[float],
    heights: Sequence[_Height],
    current: Thresholds,
    *,
    keeps: Callable[[float, float], bool] = ge,
    digits: int = 0,
    below: float = inf,
) -> Suggestion | None:
    """`heights`: of the findings, which a threshold keeps where `keeps(height, threshold)`; it must stay `below`."""
    usual = sorted(values)[ceil(QUANTILE * len(values)) - 1] if values else inf
    if not isfinite(usual):
        return None
    value = ceil(usual * MARGIN * 10**digits) / 10**digits
    kept = sum(keeps(height, value) for _, height in heights)
    is_better = getattr(current, key) < value < below and kept < len(heights)
    return Suggestion(key, value, usual, kept, len(heights) - kept) if is_better else None


def _most_within(rebalances: Iterable[tuple[str, int]], within: int) -> int:
    """The most rebalances of one topic in less than `within`: one rebalance of several may begin at many moments."""
    most, recent = 0, dict[str, list[int]]()
    for topic, at in sorted(rebalances):
        recent[topic] = [*(earlier for earlier in recent.get(topic, ()) if at - earlier < within), at]
        most = max(most, len(recent[topic]))
    return most


def _heights(findings: Iterable[PublishedFinding], height: Callable[[Finding], float | None]) -> list[_Height]:
    """The heights of the findings that have one."""
    heights = ((finding.step_start, height(finding.finding)) for finding in findings)
    return [(step, value) for step, value in heights if value is not None]


def _least_stopped(findings: Iterable[PublishedFinding]) -> float:
    """The least lag with which a queue of an ERROR made no progress, or began to lose messages; not known: 0."""
    every = (published.finding for published in findings)
    stopped = (finding for finding in every if finding.rule in _STOPPED and finding.severity == ERROR)
    return min((queue.backlog_start or 0 for finding in stopped for queue in finding.evidence.queues), default=inf)


def _lagging(finding: Finding) -> float | None:
    return finding.evidence.measured.get("lag_last") if finding.rule == consumer_lagging.RULE.name else None


def _skew(finding: Finding) -> float | None:
    measures = finding.evidence.measured
    if finding.rule == producer_skew.RULE.name:
        return measures.get("max_over_mean")
    if finding.rule != load_imbalance.RULE.name or not measures.get("most_consumed"):
        return None
    least = measures.get("least_consumed")
    return (measures["most_consumed"] or 0) / least if least else inf


def _flapping(finding: Finding) -> float | None:
    times = map(finding.evidence.measured.get, ("comings", "goings"))
    known = [value for value in times if value is not None]
    return min(known, default=None) if finding.rule == flapping_member.RULE.name else None
