"""The parties of a finding (which clients gave which answer), and a broker's answers that change back and forth."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from spark_jobs.domain.model.finding import Party
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span

Value = TypeVar("Value", str, int, tuple[tuple[str, str], ...])


def parties(
    answers: Iterable[tuple[Value, str]], name: Callable[[Value], str], *, descending: bool = False
) -> tuple[Party, ...]:
    """One per different value, in the order of the values, with the client ids that have it, each once and in the
    order given.

    `answers`: (value, client id). Python orders texts as Spark does: by code points, which is by UTF-8 bytes.
    """
    ids_of_value: dict[Value, dict[str, None]] = {}
    for value, client_id in answers:
        ids_of_value.setdefault(value, {})[client_id] = None
    return tuple(Party(name(value), tuple(ids_of_value[value])) for value in sorted(ids_of_value, reverse=descending))


def flaps(
    spans: Sequence[Span[Membership]], answer: Callable[[Membership], Hashable]
) -> Iterator[tuple[Span[Membership], Span[Membership]]]:
    """Each span of a broker whose answer differs from the same answer before and after it, while the clients are the
    same, with the span before it. A broker keeps the answer of the last heartbeat.

    Source: `ConsumerGroupInfo.updateSubscription`, `ConsumerGroupInfo.updateChannel`.
    """
    for before, now, after in zip(spans, spans[1:], spans[2:], strict=False):
        no_gap = before.end == now.start and now.end == after.start
        back = answer(before.state) == answer(after.state) != answer(now.state)
        if no_gap and back and _ids(now) and _ids(before) == _ids(now) == _ids(after):
            yield before, now


def _ids(span: Span[Membership]) -> list[str]:
    return [connection.client_id for connection in span.state.connections]
