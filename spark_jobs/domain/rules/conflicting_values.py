"""The conflicting values of a finding with their clients, and answers of a broker that change back and forth."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise, zip_longest
from statistics import median
from typing import TypeVar

from spark_jobs.domain.model.finding import ConflictingValue
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, AuditSettings

Value = TypeVar("Value", str, int, tuple[tuple[str, str], ...])


def conflicting_values(
    answers: Iterable[tuple[Value, str]], name: Callable[[Value], str], *, descending: bool = False
) -> tuple[ConflictingValue, ...]:
    """One per value of the (value, client id) `answers`, by code points, with its client ids in the order given."""
    ids_of_value: dict[Value, dict[str, None]] = {}
    for value, client_id in answers:
        ids_of_value.setdefault(value, {})[client_id] = None
    return tuple(
        ConflictingValue(name(value), tuple(ids_of_value[value])) for value in sorted(ids_of_value, reverse=descending)
    )


def flaps(
    spans: Sequence[Span[Membership]], answer: Callable[[Membership], Hashable], lasting: int = 0
) -> Iterator[tuple[Span[Membership], Span[Membership]]]:
    """Each run of a broker's answers between two equal other ones, with the run before it, if all clients of before
    stay or it lasts no longer than `lasting` (microseconds), as no deployment with rollback does. Source:
    `ConsumerGroupInfo.updateSubscription` and `updateChannel`, which keep the answer of the last heartbeat.
    """
    runs = [list(same) for _, same in groupby(spans, lambda span: answer(span.state))]
    for before, now, after in zip(runs, runs[1:], runs[2:], strict=False):
        neighbors = [before[-1], *now, after[0]]
        no_gap = all(span.end == following.start for span, following in pairwise(neighbors))
        back = answer(before[0].state) == answer(after[0].state) != answer(now[0].state)
        lists = [set(span.state.client_ids) for span in neighbors]
        stay, is_brief = all(lists[0] <= ids for ids in lists), now[-1].end - now[0].start <= lasting
        if no_gap and back and all(lists) and (stay or is_brief):
            yield before[-1], now[-1]._replace(start=now[0].start)


def with_both_kinds(
    flapped: Sequence[tuple[Span[Membership], Span[Membership]]], spans: Sequence[Span[Membership]], together: int
) -> Iterator[tuple[Span[Membership], Span[Membership]]]:
    """The flaps of a broker, each for as long as two kinds of clients are there.

    They are there until one of its clients is gone, or the answer has been the same for twice as long as it usually is:
    a heartbeat that says nothing new changes nothing at the broker. They are there until the next flap that begins no
    more than `together` later, too: one rolling change replaces clients.
    """
    usual = int(median(now.end - now.start for _, now in flapped)) if flapped else 0
    for (before, now), following in zip_longest(flapped, flapped[1:]):
        end = max(now.end, min(now.end + 2 * usual, _stays_until(spans, now)))
        if following and following[1].start - end <= together:
            end = max(end, following[1].start)
        yield before, now._replace(end=end)


def _stays_until(spans: Sequence[Span[Membership]], now: Span[Membership]) -> int:
    """Until when all clients of a span are listed."""
    until, client_ids = now.end, set(now.state.client_ids)
    for span in spans:
        if span.start == until and client_ids <= set(span.state.client_ids):
            until = span.end
    return until


def changing_within(settings: AuditSettings) -> int:
    """How long one answer lasts at most while clients of two kinds send their heartbeats, in microseconds."""
    return settings.thresholds.settled_seconds * SECOND + settings.cadence
