"""The times in which the brokers that host a topic are seen to list different members of a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import RuleHit
from spark_jobs.domain.model.window import islands
from spark_jobs.domain.rules.conflicting_values import changing_within


class Split(NamedTuple):
    """Views in force when some of them begin (`begun`), sorted by name, and the hit of those that begin."""

    views: Sequence[RebalanceInterval]
    begun: Sequence[RebalanceInterval]
    hit: RuleHit

    @property
    def start(self) -> int:
        """When they begin, in microseconds."""
        return self.hit.start

    @property
    def end(self) -> int:
        """When the hit ends, in microseconds."""
        return self.hit.end

    def until(self, end: int) -> Split:
        """The same with another end."""
        return self._replace(hit=replace(self.hit, end=end))


def split_views(step: AuditedStep) -> Iterator[Split]:
    """One per (ordinary topic, moment at which intervals of single brokers begin), if brokers were seen to list
    different members since. If they agree only for moments, a hit lasts until they differ again.
    """
    views = [interval for interval in step.replayed if interval.view != ALL_HOSTS and interval.is_ordinary]
    for _, topic_intervals in groupby(views, key=lambda interval: interval.topic):
        yield from _without_pauses(step, list(_splits(step, topic_intervals)))


def _splits(step: AuditedStep, topic_intervals: Iterable[RebalanceInterval]) -> Iterator[Split]:
    last: dict[str, RebalanceInterval] = {}
    for start, began_together in groupby(topic_intervals, key=lambda interval: interval.start):
        begun = {interval.view: interval for interval in began_together}
        last |= begun
        lists = [last[name] for name in sorted(last) if last[name].end > start]
        seen_at = _seen_to_differ(step, lists, start)
        if seen_at is not None:
            begun_lists = [begun[name] for name in sorted(begun)]
            yield Split(lists, begun_lists, _hit(step, begun_lists, lists, seen_at))


def _without_pauses(step: AuditedStep, splits: Iterable[Split]) -> Iterator[Split]:
    """The splits of a topic; from `flapping_times` on with pauses of a heartbeat or less, each lasts until the next."""
    longest = changing_within(step.settings)
    for lengthened in islands([split.until(split.end + longest) for split in splits]):
        near = [split.until(split.end - longest) for split in lengthened]
        end = max(split.end for split in near)
        comes_back = len(list(islands(near))) >= step.settings.thresholds.flapping_times
        yield from (split.until(min(split.end, end)) for split in (lengthened if comes_back else near))


def _seen_to_differ(step: AuditedStep, views: Sequence[RebalanceInterval], start: int) -> int | None:
    """Until when (microseconds) two brokers were seen to differ since `start`, or one view was seen; None: never."""
    if len(views) == 1:
        return views[0].seen_at
    differ_until = []
    for interval, other in combinations(views, 2):
        until = min(interval.seen_at or start, other.seen_at or start)
        both_known = all(_is_known(step, broker_name, start, until) for broker_name in (interval.view, other.view))
        if interval.client_ids != other.client_ids and both_known:
            differ_until.append(until)
    return max(differ_until, default=None)


def _is_known(step: AuditedStep, broker_name: str, start: int, until: int) -> bool:
    """Return whether a broker was asked from `start` to `until`, or before and after both with no round missed."""
    series, window = step.history.memberships[broker_name], step.window
    inside = series.inside(start, until + 1)
    if inside.start < inside.stop:
        return True
    known = series.inside(window.read_from, window.end)
    if not known.start < inside.start < known.stop or until < start:
        return False
    before, after = series.times[inside.start - 1 : inside.start + 1].tolist()
    return bool(after - before < 2 * step.settings.cadence)


def _hit(
    step: AuditedStep, begun: Sequence[RebalanceInterval], lists: Sequence[RebalanceInterval], seen_at: int
) -> RuleHit:
    thresholds = step.settings.thresholds
    only_duplicate_ids = len(lists) > 1 and len({frozenset(interval.client_ids) for interval in lists}) == 1
    return RuleHit(
        begun[0].start,
        max(interval.end for interval in begun),
        topic=begun[0].topic,
        seen_at=seen_at,
        minimum_seen_seconds=thresholds.persistent_after_seconds if only_duplicate_ids else thresholds.settled_seconds,
    )
