"""Consumption of a group that no broker lists, moment by moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from tests.support.oracle.snapshots import MembershipSnapshot, OffsetEntry, OffsetSnapshot, StepWindow, TopicHistory

THROUGH_PROXY, BY_UNSEEN = "CONSUMED_THROUGH_PROXY", "CONSUMED_BY_UNSEEN"
Time = tuple[int, int]


class _Pair(NamedTuple):
    """Two successive samples of a topic, in the order of the later one; of equal ones what stands comes first."""

    end: int
    advanced: bool
    start: int
    came_in: bool


def unseen_times(history: TopicHistory, window: StepWindow) -> list[tuple[Time, str]]:
    """The times in which somebody consumes, each with the reason; `history` with the snapshots of the window only."""
    listing = _times_with_members(history.memberships, window)
    nobody = _where(
        history.memberships,
        window,
        lambda lists: bool(lists) and not any(membership.client_ids for membership in lists),
    )
    proxies = _times_with_members(history.proxies, window)
    if proxies:
        proxies[0] = (window.replayed_from, proxies[0][1])
    found: list[tuple[Time, str]] = []
    for time in nobody:
        pairs = _pairs(history.all_offsets, time)
        for start, end in _left(time, _stands(pairs, time[1], window.stalled_after)):
            inside = [pair.end for pair in pairs if pair.advanced and start <= pair.start and pair.end <= end]
            shared = [(max(start, time[0]), min(end, time[1])) for time in proxies if time[0] < end and start < time[1]]
            if inside and 2 * (max(inside) - min(inside)) >= window.cadence:
                found.append(((start, end), THROUGH_PROXY if shared else BY_UNSEEN))
            elif not listing:
                found += [(time, THROUGH_PROXY) for time in shared]
    return found


def may_be_at_proxies(history: TopicHistory, window: StepWindow) -> bool:
    """True if there were proxies, which nobody asks for members here, and no broker listed any member; `history` as
    above.
    """
    listed, proxies = (_times_with_members(snapshots, window) for snapshots in (history.memberships, history.proxies))
    return bool(proxies) and not listed


def _times_with_members(snapshots: Sequence[MembershipSnapshot], window: StepWindow) -> list[Time]:
    return _where(snapshots, window, lambda lists: any(membership.client_ids for membership in lists))


def _where(snapshots: Sequence[MembershipSnapshot], window: StepWindow, holds: object) -> list[Time]:
    """The maximal times in which it holds of what the brokers list."""
    captured = {snapshot.captured_at for snapshot in snapshots}
    moments = {window.replayed_from, window.end} | captured | {moment + window.max_gap for moment in captured}
    cuts = sorted(moment for moment in moments if window.replayed_from <= moment <= window.end)
    found: list[Time] = []
    for start, end in pairwise(cuts):
        if holds(_in_force(snapshots, window, start)):  # type: ignore[operator]
            if found and found[-1][1] == start:
                found[-1] = (found[-1][0], end)
            else:
                found.append((start, end))
    return found


def _in_force(snapshots: Iterable[MembershipSnapshot], window: StepWindow, at: int) -> list[MembershipSnapshot]:
    """Each broker's last list, if it still holds."""
    last: dict[str, MembershipSnapshot] = {}
    for snapshot in sorted(snapshots, key=lambda snapshot: snapshot.captured_at):
        if snapshot.captured_at <= at:
            last[snapshot.broker_name] = snapshot
    return [snapshot for snapshot in last.values() if at < snapshot.captured_at + window.max_gap]


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
