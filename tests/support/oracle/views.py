"""Members of the group, as the brokers that host the topic list it: one view if they agree, else one each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Protocol, TypeVar

from spark_jobs.domain.model.message_queue import RouteEntry, java_order, sort_client_ids
from tests.support.oracle.snapshots import MembershipSnapshot, StepWindow, TopicHistory

#: Name of the view of brokers that agree.
AGREED = "*"


@dataclass(frozen=True)
class Observation:
    """What is known at one moment: the sorted route (None: unobserved), and per view the sorted client ids and whether
    a broker of it says that the group broadcasts.
    """

    route: tuple[RouteEntry, ...] | None
    views: tuple[tuple[str, tuple[str, ...], bool], ...]

    @property
    def split(self) -> bool:
        """Whether the brokers disagree."""
        return len(self.views) > 1


@dataclass(frozen=True)
class Span:
    """A maximal span `[start, end)` of one observation."""

    start: int
    end: int
    observation: Observation


def observed_spans(history: TopicHistory, window: StepWindow) -> list[Span]:
    """Spans that tile the replayed time; a disagreement as short as a recorder's sweep is not one."""
    start, end = window.replayed_from, window.end
    captured = {snapshot.captured_at for snapshot in history.memberships}
    captured |= {snapshot.captured_at for snapshot in history.routes}
    moments = {start, end} | captured | {moment + window.max_gap for moment in captured}
    cuts = sorted(moment for moment in moments if start <= moment <= end)
    spans: list[Span] = []
    for cut, until in pairwise(cuts):
        observation = _observe(history, window.max_gap, cut)
        if spans and spans[-1].observation == observation:
            spans[-1] = replace(spans[-1], end=until)
        else:
            spans.append(Span(cut, until, observation))
    return list(_settled(spans, tolerance=window.cadence // 2))


def _settled(spans: Iterable[Span], tolerance: int) -> Iterator[Span]:
    """The spans, of which a run of disagreement shorter than the tolerance takes the members agreed at its end.

    The recorder asks brokers one after another, so a change shows on one broker first.
    """
    runs = [list(run) for _, run in groupby(spans, key=lambda span: span.observation.split)]
    for run, following in zip(runs, [*runs[1:], []], strict=True):
        views = following[0].observation.views if following else ()
        brief = run[-1].end - run[0].start < tolerance
        for span in run:
            settles = span.observation.split and brief and views
            yield replace(span, observation=replace(span.observation, views=views)) if settles else span


def _observe(history: TopicHistory, max_gap: int, at: int) -> Observation:
    route = in_force(history.routes, max_gap, at)
    if route is None:
        return Observation(None, ())
    lists = []
    for host in sorted({entry.broker_name for entry in route.entries}, key=java_order):
        of_host = [snapshot for snapshot in history.memberships if snapshot.broker_name == host]
        membership = in_force(of_host, max_gap, at)
        if membership is not None:
            lists.append(membership._replace(message_model=_model(of_host, at)))
    entries = sorted(route.entries, key=lambda entry: java_order(entry.broker_name))
    return Observation(tuple(entries), _views(lists))


def _model(of_host: Sequence[MembershipSnapshot], at: int) -> str | None:
    """What the host last said by then; else what it first says."""
    known = sorted((snapshot.captured_at, snapshot.message_model) for snapshot in of_host if snapshot.message_model)
    return next((model for when, model in reversed(known) if when <= at), known[0][1] if known else None)


def _views(lists: Sequence[MembershipSnapshot]) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """A broker that lists nobody while another does just came back: who asks it keeps what it had."""
    members = [
        (membership.broker_name, tuple(sort_client_ids(membership.client_ids)), _broadcasts(membership))
        for membership in lists
    ]
    if any(listed for _, listed, _ in members):
        members = [view for view in members if view[1]]
    elif members:
        members = members[:1]
    if len({listed for _, listed, _ in members}) == 1:
        return ((AGREED, members[0][1], any(broadcasts for *_, broadcasts in members)),)
    return tuple(members)


def _broadcasts(membership: MembershipSnapshot) -> bool:
    return membership.message_model == "BROADCASTING"


class _Captured(Protocol):
    @property
    def captured_at(self) -> int: ...


_Snapshot = TypeVar("_Snapshot", bound=_Captured)


def in_force(snapshots: Iterable[_Snapshot], max_gap: int, at: int) -> _Snapshot | None:
    """The last snapshot of one key at a moment; None, unobserved, if there is none or it is past the gap."""
    held = [snapshot for snapshot in snapshots if snapshot.captured_at <= at < snapshot.captured_at + max_gap]
    return max(held, key=lambda snapshot: snapshot.captured_at, default=None)
