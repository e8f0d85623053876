"""In which queues messages piled up in one step, by every pair of a queue's samples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from tests.support.oracle.moves import Place
from tests.support.oracle.progress import Log, QueueSample, queue_samples
from tests.support.oracle.snapshots import OffsetSnapshot, StepWindow
from tests.support.oracle.status import QueueRow, rows_by_queue


class PiledUp(NamedTuple):
    """Messages, message-milliseconds, and by how many messages the backlog grew in the intervals that begin then."""

    messages: int
    waited: int
    growths: tuple[tuple[int, int], ...]


class Look(NamedTuple):
    """The backlog at one sample; `without_rewinds`: less what offsets that went back have added; `moved`: the offset
    is another one than before.
    """

    at: int
    messages: int
    without_rewinds: int
    moved: bool


def piled_up(
    rows: Iterable[QueueRow],
    offsets: Mapping[str, Sequence[OffsetSnapshot]],
    window: StepWindow,
    allowed_lag: int,
    stalled_after: int,
) -> dict[tuple[str, Place], PiledUp]:
    """By queue: those in which more waited than is allowed, and than is consumed in a minute. `stalled_after`:
    microseconds.
    """
    found = {}
    for (topic, place), of_queue in rows_by_queue(rows):
        looks = list(_looks(queue_samples(offsets.get(topic, ()), window, place), window))
        enough = max(allowed_lag, _per_minute(of_queue))
        if _most(of_queue) > enough and (pile := _of_queue(looks, of_queue, enough, stalled_after)):
            found[topic, place] = pile
    return found


def unknown_queues(rows: Iterable[QueueRow]) -> list[tuple[str, Place]]:
    """Queues whose last sample shows no lag, or that have none; those of retry topics only if messages came."""
    return [
        queue
        for queue, of_queue in rows_by_queue(rows)
        if [row.measured.lag_last for row in of_queue if row.measured.readings][-1:] in ([], [None])
        and (not queue[0].startswith("%RETRY%") or any(row.measured.produced for row in of_queue))
    ]


def _of_queue(looks: Sequence[Look], of_queue: Sequence[QueueRow], enough: int, stalled_after: int) -> PiledUp | None:
    places = range(len(looks))
    rises = {(i, j): looks[j].without_rewinds - looks[i].without_rewinds for j in places for i in range(j + 1)}
    bottom, top = max(rises, key=lambda pair: (rises[pair], -pair[1], pair[0]))
    waited = sum(before.messages * (after.at - before.at) for before, after in pairwise(looks)) // 1000
    last = ((of_queue[-1].start, 0),)
    if rises[bottom, top] > enough:
        steps = list(pairwise(looks[bottom : top + 1]))
        grown = {
            row.start: sum(
                after.without_rewinds - before.without_rewinds
                for before, after in steps
                if row.start <= after.at < row.end
            )
            for row in of_queue
        }
        return PiledUp(looks[top].messages, waited, tuple((at, n) for at, n in grown.items() if n > 0) or last)
    left = looks[-1].messages
    if left > enough and left >= looks[0].messages:
        return PiledUp(left, waited, last)
    if stands := list(_stands(looks, enough, stalled_after)):
        growths = tuple(
            (_last_before(of_queue, stand[-1].at), max(look.messages for look in stand)) for stand in stands
        )
        waited = sum(
            sum(before.messages * (after.at - before.at) for before, after in pairwise(stand)) // 1000
            for stand in stands
        )
        return PiledUp(max(messages for _, messages in growths), waited, growths)
    if looks[0].messages > enough:
        return PiledUp(max(look.messages for look in looks), waited, last)
    return None


def _stands(looks: Sequence[Look], enough: int, stalled_after: int) -> Iterator[list[Look]]:
    """Times in which the offset did not move on, that lasted so long, with more than enough in the end."""
    stand: list[Look] = []
    for look in [*looks, None]:
        if stand and (look is None or look.moved):
            if stand[-1].at - stand[0].at >= stalled_after and stand[-1].messages > enough:
                yield stand
            stand = []
        if look is not None:
            stand.append(look)


def _last_before(of_queue: Sequence[QueueRow], end: int) -> int:
    """When the last of its intervals that begins before `end` does."""
    return ([row.start for row in of_queue if row.start < end] or [of_queue[0].start])[-1]


def _looks(samples: Sequence[QueueSample], window: StepWindow) -> Iterator[Look]:
    """From the last one before the step on that still holds. Where nothing was committed in the step, all waits."""
    committed = any(sample.lag is not None and sample.end_offset for sample in samples if sample.at >= window.start)
    known = [sample for sample in samples if (sample.lag if committed else sample.end_offset) is not None]
    before = [sample for sample in known if window.start - window.max_gap <= sample.at < window.start][-1:]
    known = [*before, *(sample for sample in known if sample.at >= window.start)]
    with_end = [sample for sample in samples if sample.end_offset is not None]
    log = Log([sample for sample in with_end if sample.at >= window.start - window.max_gap])
    came, back, ends = 0, 0, list[int]()
    every_end = [sample.end_offset or 0 for sample in known]
    for last, sample in zip([None, *known], known, strict=False):
        ends.append(sample.end_offset or 0)
        if last is not None:
            came += log.produced(last, sample) or 0
        if last is not None and last.consumed_to is not None and sample.consumed_to is not None:
            back += max(last.consumed_to - sample.consumed_to, 0)
        waits = sample.lag if committed else came
        assert waits is not None
        moved = committed and last is not None and sample.consumed_to != last.consumed_to
        without_rewinds = waits - back + _missing(every_end, len(ends) - 1) if committed else came
        yield Look(sample.at, waits, without_rewinds, moved)


def _missing(ends: Sequence[int], number: int) -> int:
    """By how much the end offset is too low for a moment: it fell, and comes back by half of that or more at once."""
    highest = max(ends[: number + 1])
    if ends[number] >= highest:
        return 0
    since = max(place for place in range(number) if ends[place] >= max(ends[: place + 1])) + 1
    back = next((place for place in range(number, len(ends)) if ends[place] >= max(ends[: place + 1])), None)
    fell = highest - ends[since]
    return fell if back is not None and ends[back] - ends[back - 1] >= fell // 2 else 0


def _most(of_queue: Sequence[QueueRow]) -> int:
    lags = [row.measured.lag_max for row in of_queue if row.measured.lag_max is not None]
    if any(lags) or any(row.measured.consumer_offset for row in of_queue):
        return max(lags, default=0)
    return sum(row.measured.produced or 0 for row in of_queue if row.replayed)


def _per_minute(of_queue: Sequence[QueueRow]) -> int:
    """What is consumed, over the intervals of which it is known."""
    known = [(row.measured.consumed, row.end - row.start) for row in of_queue if row.measured.consumed is not None]
    time = sum(lasting for _, lasting in known)
    return int(Fraction(sum(messages for messages, _ in known) * 60 * 10**6, time)) if time else 0
