"""Consumption of a group that no broker lists, moment by moment."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tests.support.oracle.snapshots import Group, MembershipSnapshot, OffsetEntry, OffsetSnapshot, StepWindow
from tests.support.oracle.views import in_force, spans_of

THROUGH_PROXY, BY_UNSEEN = "CONSUMED_THROUGH_PROXY", "CONSUMED_BY_UNSEEN"
Time = tuple[int, int]


class _Pair(NamedTuple):
    """Two successive samples of a topic, in the order of the later one; of equal ones what stands comes first."""

    end: int
    advanced: bool
    start: int
    came_in: bool


def unseen_times(group: Group, window: StepWindow) -> list[tuple[Time, str]]:
    """The times in which somebody consumes, each with the reason; `group` with the snapshots of the window only."""
    listing = _times_with_members(group.memberships, window)
    nobody = _where(group.memberships, window, lambda lists: bool(lists) and not any(lists))
    proxies = _times_with_members(group.proxies, window)
    if proxies:
        proxies[0] = (window.replayed_from, proxies[0][1])
    found: list[tuple[Time, str]] = []
    for time in nobody:
        pairs = _pairs(group.offsets, time)
        for start, end in _left(time, _stands(pairs, time[1], window.stalled_after)):
            inside = [pair.end for pair in pairs if pair.advanced and start <= pair.start and pair.end <= end]
            shared = [(max(start, time[0]), min(end, time[1])) for time in proxies if time[0] < end and start < time[1]]
            if inside and 2 * (max(inside) - min(inside)) >= window.cadence:
                found.append(((start, end), THROUGH_PROXY if shared else BY_UNSEEN))
            elif not listing:
                found += [(time, THROUGH_PROXY) for time in shared]
    return found


def may_be_at_proxies(group: Group, window: StepWindow) -> bool:
    """There were proxies, which nobody asks for members here, and no broker listed any member; `group` as above."""
    return bool(_times_with_members(group.proxies, window)) and not _times_with_members(group.memberships, window)


def _times_with_members(snapshots: Sequence[MembershipSnapshot], window: StepWindow) -> list[Time]:
    return _where(snapshots, window, any)


def _where(
    snapshots: Sequence[MembershipSnapshot], window: StepWindow, holds: Callable[[list[tuple[str, ...]]], bool]
) -> list[Time]:
    """The maximal times in which it holds of the ids that brokers list."""
    of_brokers = [
        [one for one in snapshots if one.broker_name == name] for name in {one.broker_name for one in snapshots}
    ]

    def holds_at(at: int) -> bool:
        lists = [in_force(of_broker, window.max_gap, at) for of_broker in of_brokers]
        return holds([membership.client_ids for membership in lists if membership])

    spans = spans_of(window, [snapshot.captured_at for snapshot in snapshots], holds_at)
    return [(span.start, span.end) for span in spans if span.value]


def _pairs(offsets: Mapping[str, Sequence[OffsetSnapshot]], time: Time) -> list[_Pair]:
    found = []
    for snapshots in offsets.values():
        inside = sorted(snapshot for snapshot in snapshots if time[0] <= snapshot.captured_at < time[1])
        for before, after in pairwise(inside):
            was = {entry[:2]: entry for entry in before.offsets}
            both = [(was[entry[:2]], entry) for entry in after.offsets if entry[:2] in was]
            advanced = any(_grew(old.consumer_offset, new.consumer_offset) for old, new in both)
            came_in = any(_grew(old.end_offset, new.end_offset) and _is_committed(new) for old, new in both)
            found.append(_Pair(after.captured_at, advanced, before.captured_at, came_in))
    return sorted(found)


def _grew(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _is_committed(entry: OffsetEntry) -> bool:
    return entry.consumer_offset is not None and bool(entry.consumer_offset or entry.last_timestamp)


def _stands(pairs: Sequence[_Pair], until: int, at_least: int) -> list[Time]:
    """Runs of pairs without an advance into which messages came, long enough; the last one until the end."""
    found, since = [], 0
    runs = [(advanced, list(run)) for advanced, run in groupby(pairs, key=lambda pair: pair.advanced)]
    for number, (advanced, run) in enumerate(runs):
        if advanced:
            since = run[-1].end
            continue
        begins = next((max(pair.start, since) for pair in run if pair.came_in), None)
        if begins is not None and run[-1].end - begins >= at_least:
            found.append((begins, until if number == len(runs) - 1 else run[-1].end))
    return found


def _left(time: Time, parts: Sequence[Time]) -> list[Time]:
    """What the parts leave of the time."""
    edges = [time[0], *(edge for part in parts for edge in part), time[1]]
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
