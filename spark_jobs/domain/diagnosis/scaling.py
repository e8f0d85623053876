"""Members that joined without effect on what is consumed, and members that left and did not come back."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.window import SECOND, second_text
from spark_jobs.domain.phrases import count

#: Of what the added members would add if each did as much as those before, less than this is nothing.
_EFFECT = 0.25
_WAITING_SECONDS = 60
#: So long after members left, the others may fall behind, or report that they have too much to do.
_SOON = 60 * SECOND


class ConsumedBy(NamedTuple):
    """A time `[start, end)` (microseconds) in which so many members owned the queues of a topic, and consumed so many
    messages a second, while there was always more to do.
    """

    start: int
    end: int
    members: int
    rate: float


def without_effect(step: AuditedStep, topic: str) -> tuple[ConsumedBy, ConsumedBy] | None:
    """The last two successive times, each of `verdict_window_seconds` at least, in which other numbers of members
    consumed the same; None: there are none.
    """
    minimum = step.settings.thresholds.verdict_window_seconds * SECOND
    lasting = [each for each in _times(step, topic) if each.end - each.start >= minimum]
    return next(((before, after) for before, after in reversed([*pairwise(lasting)]) if _is_same(before, after)), None)


@cached_with_value
def departures(step: AuditedStep) -> Sequence[int]:
    """The moments at which members left, in order (microseconds)."""
    return sorted({rebalance.moment for rebalance in step.rebalances if rebalance.moves.left})


@cached_with_value
def who_left(step: AuditedStep, start: int, until: int) -> str | None:
    """A sentence on the members that left shortly before a time `[start, until)` (microseconds), or at its first
    samples, as far as no others took their place until its end.
    """
    interval = step.settings.cadence
    left_at = [at for at in departures(step) if start - _SOON - interval <= at <= start + interval]
    if not left_at:
        return None
    ordinary = [each for each in step.replayed if each.is_ordinary]
    before = [len(each.members or ()) for each in ordinary if each.start < left_at[0] <= each.end]
    since = [len(each.members or ()) for each in ordinary if left_at[-1] < each.end and each.start < until]
    if not before or not since or max(since) >= max(before):
        return None
    missing_count, all_members = max(before) - max(since), count(max(before), "member")
    last = second_text(left_at[-1])
    return f"{missing_count:,} of {all_members} left at {last}, and did not come back: those that stay are too few."


def _is_same(before: ConsumedBy, after: ConsumedBy) -> bool:
    fewer, more = sorted((before, after), key=lambda each: each.members)
    gain = more.rate / fewer.rate - 1
    return more.members > fewer.members and gain < _EFFECT * (more.members / fewer.members - 1)


def _times(step: AuditedStep, topic: str) -> Iterator[ConsumedBy]:
    """One per time with the same number of owners in which messages for a minute waited at all its samples."""
    rows = [row for row in step.progress if row.interval.topic == topic and _owners(row) and row.start < row.end]
    for members, together in groupby(sorted(rows, key=lambda row: row.start), key=_owners):
        of_time = list(together)
        seconds = (of_time[-1].end - of_time[0].start) / SECOND
        rate = sum(known_total(row.consumed) or 0 for row in of_time) / seconds
        if rate > 0 and min(known_total(row.lag_last) or 0 for row in of_time) >= _WAITING_SECONDS * rate:
            yield ConsumedBy(of_time[0].start, of_time[-1].end, members, rate)


def _owners(row: IntervalProgress) -> int:
    allocation = row.interval.allocation
    return len({owner for owners in allocation.owners for owner in owners}) if allocation else 0
