"""Is a queue moving? The rules of LinkedIn's Burrow over a window of one queue's samples, first match wins; every
window of an interval is cut out and looked at by itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple


class Sample(NamedTuple):
    """One look at a queue: microseconds, next offset to consume, messages left (None: unknown)."""

    at: int
    consumed_to: int | None
    lag: int | None


class ObservedNeighbor(NamedTuple):
    """A sample of which everything is known."""

    at: int
    consumed_to: int
    lag: int


class Limits(NamedTuple):
    """Messages that may be left; microseconds and samples of a window; microseconds that a sample holds."""

    allowed_lag: int
    window: int
    window_samples: int
    max_gap: int


class Evaluated(NamedTuple):
    """The verdict at a sample, and since when."""

    at: int
    verdict: str
    since: int


@dataclass(frozen=True)
class Spans:
    """A queue by the windows of an interval. `stuck`: from the sample at which something began that keeps the
    queue from getting on, to the last sample that still says so.
    """

    worst: str | None
    stuck: tuple[tuple[int, int], ...]

    def cover(self, at: int) -> bool:
        """Whether what came before this moment came inside a span."""
        return any(begin < at <= last for begin, last in self.stuck)

    def time(self, start: int) -> int:
        """Microseconds from `start` on that any span covers."""
        moments = sorted({start, *(moment for span in self.stuck for moment in span if moment > start)})
        return sum(after - before for before, after in pairwise(moments) if self.cover(after))


def spans(samples: Sequence[Sample], start: int, limits: Limits) -> Spans:
    """`samples`: of the whole interval, in the order of time; those from `start` on are evaluated."""
    evaluated = list(_evaluated(list(_runs(samples, limits.max_gap)), start, limits))
    verdicts = {one.verdict for one in evaluated}
    worst = next((verdict for verdict in ("STOP", "REWIND", "STALL", "WARN", "OK") if verdict in verdicts), None)
    return Spans(worst, tuple((one.since, one.at) for one in evaluated if one.verdict in ("STOP", "STALL", "WARN")))


def _runs(samples: Sequence[Sample], max_gap: int) -> Iterator[list[ObservedNeighbor]]:
    """The known samples, parted where there is a gap between two."""
    run: list[ObservedNeighbor] = []
    for at, consumed_to, lag in samples:
        if consumed_to is None or lag is None:
            continue
        if run and at - run[-1].at > max_gap:
            yield run
            run = []
        run.append(ObservedNeighbor(at, consumed_to, lag))
    if run:
        yield run


def _evaluated(runs: Sequence[Sequence[ObservedNeighbor]], start: int, limits: Limits) -> list[Evaluated]:
    """At every sample that has a whole window; if none has, at the last with all that there is."""
    found = []
    for run in runs:
        for end, last in enumerate(run, start=1):
            begin = _begin(run[:end], limits)
            if last.at >= start and begin is not None:
                found.append(_evaluate(run[:end], run[begin:end], limits.allowed_lag))
    if not found and runs and len(runs[-1]) > 1 and runs[-1][-1].at >= start:
        found.append(_evaluate(runs[-1], runs[-1], limits.allowed_lag))
    return found


def _begin(run: Sequence[ObservedNeighbor], limits: Limits) -> int | None:
    """Where the shortest window begins that ends with the run."""
    whole = [
        begin
        for begin in range(len(run))
        if run[-1].at - run[begin].at >= limits.window and len(run) - begin >= limits.window_samples
    ]
    return max(whole, default=None)


def _evaluate(run: Sequence[ObservedNeighbor], window: Sequence[ObservedNeighbor], allowed_lag: int) -> Evaluated:
    """`run`: the window, and what came before it without a gap. Since when: the last sample that showed otherwise."""
    verdict = _verdict(run, window, allowed_lag)
    others = {
        "STOP": [*_moves(run), *(sample.at for sample in run if sample.lag == 0)],
        "STALL": [sample.at for sample in run if sample.lag <= allowed_lag],
        "WARN": [*_falls(run), *(sample.at for sample in run if sample.lag <= allowed_lag)],
    }
    return Evaluated(window[-1].at, verdict, max([run[0].at, *others.get(verdict, [])]))


def _verdict(run: Sequence[ObservedNeighbor], window: Sequence[ObservedNeighbor], allowed_lag: int) -> str:
    last, moves = window[-1], _moves(run)
    lags, offsets = [sample.lag for sample in window], [sample.consumed_to for sample in window]
    if last.lag <= allowed_lag:
        return "OK"
    if moves and min(lags) > 0 and last.at - moves[-1] > moves[-1] - window[0].at:
        return "STOP"
    if last.consumed_to < max(offsets):
        return "REWIND"
    if min(lags) <= allowed_lag:
        return "OK"
    if len(set(offsets)) == 1:
        return "STALL"
    return "OK" if _falls(window) else "WARN"


def _moves(samples: Sequence[ObservedNeighbor]) -> list[int]:
    """When the consumer offset was another than at the sample before."""
    return [after.at for before, after in pairwise(samples) if after.consumed_to != before.consumed_to]


def _falls(samples: Sequence[ObservedNeighbor]) -> list[int]:
    """When less was left than at the sample before."""
    return [after.at for before, after in pairwise(samples) if after.lag < before.lag]


def moved_at(samples: Sequence[Sample]) -> list[int]:
    """When the consumer offset was another than at the sample before, both being known."""
    return [
        after.at
        for before, after in pairwise(samples)
        if None not in (before.consumed_to, after.consumed_to) and after.consumed_to != before.consumed_to
    ]
