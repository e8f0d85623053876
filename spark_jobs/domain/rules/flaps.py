"""What a broker says of a group in turns: it keeps what the last heartbeat said, and members say different things."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

from spark_jobs.domain.history import Membership
from spark_jobs.domain.series import Span


def flaps(
    spans: Sequence[Span[Membership]], said: Callable[[Membership], Hashable]
) -> Iterator[tuple[Span[Membership], Span[Membership]]]:
    """Each span of a broker between two spans that said something else, and the same, the clients being the same; with
    the span before it.

    Source: `ConsumerGroupInfo.updateSubscription`, `ConsumerGroupInfo.updateChannel`.
    """
    for before, now, after in zip(spans, spans[1:], spans[2:], strict=False):
        no_gap = before.end == now.start and now.end == after.start
        back = said(before.state) == said(after.state) != said(now.state)
        if no_gap and back and _ids(now) and _ids(before) == _ids(now) == _ids(after):
            yield before, now


def _ids(span: Span[Membership]) -> list[str]:
    return [connection.client_id for connection in span.state.connections]
