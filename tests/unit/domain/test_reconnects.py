"""New connections of clients that keep their id, by what brokers list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.reconnects import new_connections, reconnects
from spark_jobs.domain.model.history import (
    UNKNOWN,
    ClientHistory,
    ClientSamples,
    ClientState,
    Connection,
    GroupHistory,
    Membership,
)
from spark_jobs.domain.model.series import Series, Span
from spark_jobs.domain.model.window import SECOND
from tests.support.builders import audited_step
from tests.support.tables import cells
from tests.support.times import START, micros

_NONE = np.zeros(0, np.int64)
#: What a broker lists every 100 s: `id:port`, joined by `+`; `-`: nobody; no port: its address is not known.
#: | id, times of new connections
_LISTS = """
    x:1 x:2 x:3                     | x 100 200
    x:1 - x:2 - x:3                 | x 200 400
    x:1 x:1 x:2 x:2 x:3             | x 200 400
    x:1+y:1 x:2+y:1 x:3+y:1         | x 100 200
    x:1 x:2 x:1 x:2                 | x 100
    x:1 x:1+x:2 x:2 x:2+x:3 x:3     |
    x:1+x:2 x:2+x:3 x:3+x:4         |
    x:1 x x:2                       | x 200
    x x x                           |
    x:1 y:1 z:1                     |
    x:1+y:1 x:2+y:1 x:2+y:2         | x 100; y 200
"""


def spans(text: str, every: float = 100) -> list[Span[Membership]]:
    found = []
    for place, word in enumerate(text.split()):
        ids = [entry.partition(":") for entry in word.split("+") if entry != "-"]
        listed = tuple(Connection(client_id, f"h:{port}" if port else None) for client_id, _, port in ids)
        start, end = micros(place * every), micros(place * every + every)
        found.append(Span(start, end, start, Membership(listed, frozenset(), frozenset(), "CLUSTERING")))
    return found


def step_of(lists: Mapping[str, str], starts: Sequence[int | None] = ()) -> AuditedStep:
    """`starts`: what the client `x` reports as its process's start, every 100 s; None: it does not."""
    step = audited_step(memberships={broker: spans(text) for broker, text in lists.items()})
    times = np.array([micros(100 * place) for place in range(len(starts))], np.int64)
    started_at = [UNKNOWN if start is None else micros(start) for start in starts]
    samples = ClientSamples(_NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, _NONE, [None] * len(starts), started_at)
    client = ClientHistory(Series(times, np.zeros(len(starts), np.int64), [ClientState(True)]), samples)
    return replace(step, history=GroupHistory("c", "g", clients={"x": client}))


def seconds(times: Mapping[str, Sequence[int]]) -> str:
    found = {client_id: [(at - START) // SECOND for at in of] for client_id, of in times.items()}
    return "; ".join(" ".join([client_id, *map(str, of)]) for client_id, of in sorted(found.items()))


def test_a_new_connection_is_an_address_that_the_id_never_had_and_no_second_one() -> None:
    for text, expected in cells(_LISTS):
        assert seconds(new_connections(spans(text))) == expected, text


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ({"a": "x:1 x:2 x:3 x:4"}, "x 100 200 300"),
        ({"a": "x:1 x:2 x:3"}, ""),  # a restart or two
        ({"a": "x:1 x:2 x:2 x:2", "b": "x:7 x:7 x:8 x:8", "c": "x:5 x:5 x:5 x:6"}, ""),  # one for each broker
        ({"a": "x:1 x:2 x:3 x:4", "b": "x:1 x:2 x:3 x:4 x:5"}, "x 100 200 300 400"),
        ({"a": "x:1+y:1 x:2+y:2 x:3+y:3 x:4+y:4"}, "x 100 200 300; y 100 200 300"),
        ({"a": "x:1+y:1 x:2+y:2 x:3+y:3 x:4+y:4", "b": "x:9+y:9 x:9+y:9"}, ""),  # the broker drops all
        ({"a": "x:1+y:1 x:2+y:1 x:3+y:1 x:4+y:1", "b": "x:9+y:9 x:9+y:9"}, "x 100 200 300"),
    ],
)
def test_a_client_comes_back_flapping_times_at_one_broker(lists: Mapping[str, str], expected: str) -> None:
    found = reconnects(step_of(lists))
    assert seconds({client_id: each.times for client_id, each in found.items()}) == expected


def test_it_lasts_while_the_next_connection_is_not_overdue() -> None:
    def until(text: str) -> float:
        return (reconnects(step_of({"a": text}))["x"].last_until - START) / SECOND

    assert until("x:1 x:2 x:3 x:4") == 400  # the lists end
    assert until("x:1 x:2 x:3 x:4 x:4 x:4") == 300  # twice the usual distance has passed
    assert until("x:1 x:1 x:2 x:2 x:3 x:3 x:4 x:4 x:4") == 900


def test_a_process_that_starts_anew_each_time_is_no_cut_connection() -> None:
    lists = {"a": "x:1 x:2 x:3 x:4"}
    (same,) = reconnects(step_of(lists, (-60, -60, None, -60))).values()
    (anew,) = reconnects(step_of(lists, (-60, 90, None, 290))).values()
    assert (same.process_starts, same.is_restarted) == ([micros(-60)], False)
    assert (len(anew.process_starts), anew.is_restarted) == (3, True)
    assert not next(iter(reconnects(step_of(lists)).values())).is_restarted
