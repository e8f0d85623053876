"""How often the offsets of a topic are committed: seldom, if all queues move at once and at even distances."""

from typing import NamedTuple

import numpy as np

from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples
from spark_jobs.domain.model.window import SECOND

#: Commits so far apart, and so many collection intervals, are seldom; by default clients commit every 5 s.
_SELDOM, _INTERVALS = 60 * SECOND, 3
#: Distances are even if the greatest is so many times the least at most.
_EVEN = 1.5
#: Moves of several queues are one commit within so many collection intervals.
_AT_ONCE = 1.5
#: A queue that no other one moves with needs so many commits, several queues need one less.
_COMMITS = 3


class SeldomCommits(NamedTuple):
    """The usual `distance` of a topic's commits, microseconds; `keeps_up`: the lag right after them does not grow."""

    distance: int
    keeps_up: bool


@cached_with_value
def seldom_commits(samples: OffsetSamples, start: int, end: int, cadence: int) -> SeldomCommits | None:
    """The usual distance of a topic's commits in `[start, end)`; None: not seldom, or too few commits show it.

    At each commit, the offsets move of all queues in which messages waited.
    """
    seen = samples.inside(start, end)
    times, offsets, lag = samples.times[seen], samples.consumed_to[seen], samples.lag[seen]
    moved = (offsets[1:] != offsets[:-1]) & (offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN)
    rows = np.flatnonzero(moved.any(axis=1))
    several = int(moved.any(axis=0).sum()) > 1
    # A commit that happens while brokers are asked shows in two samples.
    begins = np.flatnonzero(np.diff(times[rows + 1], prepend=start - 2 * cadence) > _AT_ONCE * cadence)
    if len(begins) < _COMMITS - several:
        return None
    firsts, lasts = rows[begins], rows[np.append(begins[1:], len(rows)) - 1]
    if (lasts - firsts > 1).any():
        return None
    distances = np.diff(times[firsts + 1])
    if distances.min() < max(_SELDOM, _INTERVALS * cadence) or distances.max() > _EVEN * distances.min():
        return None
    waited = (lag[firsts] > 0) & (lag[firsts] != UNKNOWN)
    if not (np.logical_or.reduceat(moved[rows], begins) | ~waited).all():
        return None
    left = np.where(lag != UNKNOWN, lag, 0).sum(axis=1)
    before, first, last = left[firsts[-1]], left[lasts[0] + 1], left[lasts[-1] + 1]
    return SeldomCommits(int(np.median(distances)), bool(last <= max(first, before // 2)))
