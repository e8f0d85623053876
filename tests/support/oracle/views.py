"""Members of the group, as the brokers that host the topic list it: one view if they agree, else one each."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Generic, NamedTuple, TypeVar

from spark_jobs.domain.model.message_queue import RouteEntry, java_order, sort_client_ids
from tests.support.oracle.snapshots import Group, MembershipSnapshot, RouteSnapshot, Snapshot, StepWindow

T = TypeVar("T")

#: Name of the view of brokers that agree.
AGREED = "*"


class Observation(NamedTuple):
    """What is known at one moment: the sorted route (None: unobserved), and per view the sorted client ids and whether
    a broker of it says that the group broadcasts.
    """

    route: tuple[RouteEntry, ...] | None
    views: tuple[tuple[str, tuple[str, ...], bool], ...]

    @property
    def is_split(self) -> bool:
        return len(self.views) > 1


class Span(NamedTuple, Generic[T]):
    """A maximal span `[start, end)` of one value."""

    start: int
    end: int
    value: T


def spans_of(window: StepWindow, captured: Iterable[int], value_at: Callable[[int], T]) -> list[Span[T]]:
    """Spans that tile the replayed time: a value may change when a snapshot is captured or no longer applies."""
    start, end = window.replayed_from, window.end
    moments = {start, end} | {moment + applies for moment in captured for applies in (0, window.max_gap)}
    cuts = sorted(moment for moment in moments if start <= moment <= end)
    pieces = [Span(cut, until, value_at(cut)) for cut, until in pairwise(cuts)]
    runs = [list(run) for _, run in groupby(pieces, key=lambda span: span.value)]
    return [Span(run[0].start, run[-1].end, run[0].value) for run in runs]


def observed_spans(group: Group, topic: str, window: StepWindow) -> list[Span[Observation]]:
    """A disagreement as short as a recorder's sweep is not one."""
    routes = group.routes.get(topic, ())
    captured = [*(one.captured_at for one in group.memberships), *(one.captured_at for one in routes)]
    spans = spans_of(window, captured, lambda at: _observe(group.memberships, routes, window.max_gap, at))
    return list(_settled(spans, tolerance=window.cadence // 2))


def _settled(spans: Iterable[Span[Observation]], tolerance: int) -> Iterator[Span[Observation]]:
    """The spans, of which a run of disagreement shorter than the tolerance takes the members agreed at its end.

    The recorder asks brokers one after another, so a change shows on one broker first.
    """
    runs = [list(run) for _, run in groupby(spans, key=lambda span: span.value.is_split)]
    for run, following in zip(runs, [*runs[1:], []], strict=True):
        views = following[0].value.views if following else ()
        brief = run[-1].end - run[0].start < tolerance
        for span in run:
            settles = span.value.is_split and brief and views
            yield span._replace(value=span.value._replace(views=views)) if settles else span


def _observe(
    memberships: Sequence[MembershipSnapshot], routes: Sequence[RouteSnapshot], max_gap: int, at: int
) -> Observation:
    route = in_force(routes, max_gap, at)
    if route is None:
        return Observation(None, ())
    lists = []
    for host in sorted({entry.broker_name for entry in route.entries}, key=java_order):
        of_host = [snapshot for snapshot in memberships if snapshot.broker_name == host]
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
        (one.broker_name, tuple(sort_client_ids(one.client_ids)), one.message_model == "BROADCASTING") for one in lists
    ]
    if any(listed for _, listed, _ in members):
        members = [view for view in members if view[1]]
    elif members:
        members = members[:1]
    if len({listed for _, listed, _ in members}) == 1:
        return ((AGREED, members[0][1], any(broadcasts for *_, broadcasts in members)),)
    return tuple(members)


def in_force(snapshots: Iterable[Snapshot], max_gap: int, at: int) -> Snapshot | None:
    """The last snapshot of one key at a moment; None, unobserved, if there is none or it is past the gap."""
    held = [snapshot for snapshot in snapshots if snapshot.captured_at <= at < snapshot.captured_at + max_gap]
    return max(held, key=lambda snapshot: snapshot.captured_at, default=None)
