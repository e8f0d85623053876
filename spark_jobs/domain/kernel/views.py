"""The members of a group as the brokers that host a topic list them: one view if they agree, else one each.

A client asks a random broker *of the topic's route* for the members, so only those brokers count (RocketMQ:
`MQClientInstance.findConsumerIdList`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, zip_longest
from typing import Generic, NamedTuple, TypeVar

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import StepWindow

State = TypeVar("State")


class View(NamedTuple):
    """The answers of one broker about the members, or of all brokers if they agree, and the last snapshot of them."""

    name: str
    answers: tuple[Membership, ...]
    seen_at: int

    @property
    def membership(self) -> Membership:
        """The members, as the first of the brokers lists them."""
        return self.answers[0]


class Moment(NamedTuple):
    """A time `[start, end)` without any change: the route in force (None: unobserved), and the views, several if the
    brokers disagree.
    """

    start: int
    end: int
    route: tuple[RouteEntry, ...] | None
    views: tuple[View, ...]


@dataclass(frozen=True)
class Timeline(Generic[State]):
    """The spans of one key, in order, and the time between them in which nothing is known."""

    spans: Sequence[Span[State]]

    @cached_property
    def _starts(self) -> list[int]:
        return [span.start for span in self.spans]

    def at(self, moment: int) -> Span[State] | None:
        """The span that contains the moment; None: unobserved."""
        place = bisect_right(self._starts, moment) - 1
        return self.spans[place] if place >= 0 and moment < self.spans[place].end else None

    def changes(self, window: StepWindow) -> set[int]:
        """The times inside the window at which a span begins or ends."""
        ends = {span.end for span in self.spans if span.end < window.end}
        return set(self._starts) | ends


def with_modes(spans: Sequence[Span[Membership]]) -> list[Span[Membership]]:
    """One broker's spans, in order; an answer without modes takes those of the last one before, else of the first."""
    model = next((span.state.message_model for span in spans if span.state.message_model), None)
    requests = next((span.state.request_modes for span in spans if span.state.request_modes is not None), None)
    completed = []
    for span in spans:
        membership = span.state
        model = membership.message_model or model
        requests = requests if membership.request_modes is None else membership.request_modes
        if (membership.message_model, membership.request_modes) != (model, requests):
            membership = membership._replace(message_model=model, request_modes=requests)
        completed.append(span._replace(state=membership))
    return completed


def moments(
    cuts: Sequence[int],
    end: int,
    routes: Timeline[tuple[RouteEntry, ...]],
    members: Mapping[str, Timeline[Membership]],
    tolerance: int,
) -> list[Moment]:
    """One per span between `cuts` (ascending, the last one until `end`); brief disagreements settled (`_settled`)."""
    unsettled = []
    for start, until in zip(cuts, [*cuts[1:], end], strict=True):
        route = routes.at(start)
        entries = route.state if route else None
        unsettled.append(Moment(start, until, entries, _views(entries or (), members, start)))
    return list(_settled(unsettled, tolerance))


def _views(route: Sequence[RouteEntry], members: Mapping[str, Timeline[Membership]], moment: int) -> tuple[View, ...]:
    """One view if the brokers agree, else one for each, without those that list no member while others do."""
    hosts = sorted({entry.broker_name for entry in route})
    seen = ((host, members[host].at(moment)) for host in hosts if host in members)
    known = [View(host, (span.state,), span.seen_at) for host, span in seen if span]
    listing = [view for view in known if view.membership.connections] or known[:1]
    if len({view.membership.client_ids for view in listing}) <= 1:
        answers = tuple(view.membership for view in listing)
        return (View(ALL_HOSTS, answers, max(view.seen_at for view in listing)),) if listing else ()
    return tuple(listing)


def _settled(in_order: Iterable[Moment], tolerance: int) -> Iterator[Moment]:
    """The moments; a disagreement shorter than the tolerance (microseconds) takes the members agreed on afterwards."""
    runs = [list(run) for _, run in groupby(in_order, key=lambda moment: len(moment.views) > 1)]
    for run, following in zip_longest(runs, runs[1:]):
        settles = len(run[0].views) > 1 and following and following[0].start - run[0].start < tolerance
        agreed = following[0].views if settles else ()
        yield from (moment._replace(views=agreed or moment.views) for moment in run)
