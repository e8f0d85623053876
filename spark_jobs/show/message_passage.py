"""When a message was stored, and when a consumer group passed it, by samples of its queue.

Times are microseconds since 1970; None is unknown. A committed offset is the next one to consume.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class CommitSample(NamedTuple):
    """A sample of the group's offsets in the queue."""

    at: int
    consumed_to: int | None
    pulled_to: int | None = None


class EndSample(NamedTuple):
    """A sample of the queue's oldest offset and of the next one to write."""

    at: int
    oldest: int | None
    end: int


class Passage(NamedTuple):
    """The times of a message: each after one sample and by another.

    `passed_by`: the first sample with a committed offset beyond it; `waits_at`: the last one without. `went_near_at`:
    the offset went back, and the message may have been consumed before and after. `deleted_by`: the queue begins beyond
    it, though the group has not passed it; `is_deleted`: so it does when it is passed. `newest`: the last sample of a
    committed offset; `is_first`: the one that passed it is the first. `end_fell`: the queue ended beyond it before, and
    does no more.
    """

    stored_after: int | None = None
    stored_by: int | None = None
    pulled_after: int | None = None
    passed_after: int | None = None
    passed_by: int | None = None
    went_back_at: int | None = None
    passed_again_by: int | None = None
    went_near_at: int | None = None
    deleted_by: int | None = None
    waits_at: int | None = None
    newest: int | None = None
    is_deleted: bool = False
    is_first: bool = False
    end_fell: bool = False


def passage(offset: int, commits: Sequence[CommitSample], ends: Sequence[EndSample]) -> Passage:
    """The times of a message by the samples of its queue, which are in the order of time. If the queue ended before it
    more than once, as a topic that was created again, the last message with this offset counts.
    """
    stored_after = max((each.at for each in ends if each.end <= offset), default=None)
    stored_by = _first(each.at for each in ends if each.end > offset and each.at > (stored_after or 0))
    known = [(each.at, each.consumed_to) for each in commits if each.consumed_to is not None]
    waits_at = max((at for at, consumed_to in known if consumed_to <= offset), default=None)
    since = (place for place, (at, _) in enumerate(known) if at >= (stored_after or 0))
    place = _first(each for each in since if known[each][1] > offset)
    times = Passage(
        *(stored_after, stored_by),
        waits_at=waits_at,
        newest=known[-1][0] if known else None,
        end_fell=stored_by is None and any(each.end > offset for each in ends),
    )
    if place is not None:
        times = _passed(offset, commits, known, place, times)
    until = times.passed_after if times.passed_by else waits_at
    deletions = (
        each.at for each in ends if (each.oldest or 0) > offset and (stored_after or 0) <= each.at <= (until or 0)
    )
    passing = (
        each.oldest > offset for each in ends if each.oldest is not None and each.at >= (times.passed_by or each.at + 1)
    )
    return times._replace(deleted_by=_first(deletions), is_deleted=next(passing, False))


def _passed(
    offset: int, commits: Sequence[CommitSample], known: Sequence[tuple[int, int]], place: int, times: Passage
) -> Passage:
    """The passage of a message that the known sample at the place shows as passed."""
    pulled = _first(each for each, sample in enumerate(commits) if (sample.pulled_to or 0) > offset)
    back = _first(each for each in range(place, len(known)) if known[each][1] <= offset)
    again = _first(each for each in range(back or len(known), len(known)) if known[each][1] > offset)
    may_begin = (
        at for each, (at, _) in enumerate(known) if at > (times.stored_after or 0) and _begins(offset, known, each)
    )
    return times._replace(
        pulled_after=commits[pulled - 1].at if pulled else None,
        passed_after=known[place - 1][0] if place and known[place - 1][1] <= offset else None,
        passed_by=known[place][0],
        went_back_at=known[back][0] if back else None,
        passed_again_by=known[again][0] if again else None,
        went_near_at=_first(may_begin),
        is_first=not place and commits[0].at < known[0][0],
    )


def _begins(offset: int, known: Sequence[tuple[int, int]], place: int) -> bool:
    """Return whether the offset went back at the sample, to before the message or less beyond it than is consumed until
    the next one.
    """
    before, (_, here), (_, after) = known[max(place - 1, 0)][1], known[place], known[min(place + 1, len(known) - 1)]
    return here < before and here - max(after - here, 0) <= offset


def _first(values: Iterable[int]) -> int | None:
    return next(iter(values), None)
