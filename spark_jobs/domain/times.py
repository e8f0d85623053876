"""Half-open times `[start, end)` in microseconds: what they share, and what one leaves of another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

Time = tuple[int, int]


def offline_times(nobody: Iterable[Time], somebody: Iterable[Time]) -> list[Time]:
    """The maximal times that are in one of `nobody` and in none of `somebody`: a sweep over where they begin and end.

    `nobody`: a broker lists nobody; `somebody`: a broker lists connections.
    """
    changes: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for kind, times in enumerate((nobody, somebody)):
        for start, end in times:
            changes[start][kind] += 1
            changes[end][kind] -= 1
    found: list[Time] = []
    offline_since, none, some = None, 0, 0
    for at in sorted(changes):
        none, some = none + changes[at][0], some + changes[at][1]
        is_offline = none > 0 and some == 0
        if is_offline and offline_since is None:
            offline_since = at
        elif not is_offline and offline_since is not None:
            found.append((offline_since, at))
            offline_since = None
    return found


def common(one: Time, other: Time) -> Time | None:
    """What both share; None: nothing."""
    start, end = max(one[0], other[0]), min(one[1], other[1])
    return (start, end) if start < end else None


def without(time: Time, parts: Iterable[Time]) -> Iterator[Time]:
    """What is left of a time; the parts are in order, and do not overlap."""
    start, end = time
    for part in parts:
        if start < part[0]:
            yield start, min(part[0], end)
        start = max(start, part[1])
        if start >= end:
            return
    yield start, end


def covered(times: Iterable[Time]) -> int:
    """How long they are together, whatever they share."""
    total, until = 0, None
    for start, end in sorted(times):
        if until is None or end > until:
            total += end - (start if until is None else max(start, until))
            until = end
    return total
