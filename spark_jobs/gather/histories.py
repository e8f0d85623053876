"""The rows that Spark gathered of a group, as the history that the kernel judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from spark_jobs.domain.history import ClientHistory, ClientState, GroupHistory
from spark_jobs.domain.series import Series
from spark_jobs.domain.sightings import NEVER, Sightings
from spark_jobs.gather.kinds import (
    CAPTURED,
    CLIENT,
    MEMBERSHIP,
    OFFSET_QUEUES,
    PROXY,
    READABLE,
    ROUTE,
    TOPIC_QUEUES,
)
from spark_jobs.gather.readings import Layout, Numbers, Readings
from spark_jobs.gather.states import client_state, membership, route, serving

State = TypeVar("State")


class Folded(NamedTuple):
    """One state of one key, and when it was seen: `times`, or the readings of that `fingerprint`."""

    fingerprint: int
    state: Any
    times: Numbers


#: By kind, then by the name of the broker, topic or client.
_Group = Mapping[str, Mapping[str, Sequence[Folded]]]


def histories(states: pa.Table, readings: pa.Table) -> list[GroupHistory]:
    """One per (cluster, consumer group) that the states name. A reading belongs to the states of its fingerprint."""
    measured = Readings(readings)
    return [_history(*key, found, measured) for key, found in sorted(_by_group(states).items())]


def _by_group(states: pa.Table) -> dict[tuple[str, str], _Group]:
    times = states["times"].combine_chunks()
    seen, offsets = times.values.to_numpy(), times.offsets.to_numpy()
    groups: dict[tuple[str, str], dict[str, dict[str, list[Folded]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for place, row in enumerate(states.drop_columns(["times"]).to_pylist()):
        column = {PROXY: MEMBERSHIP, CAPTURED: READABLE}.get(row["kind"], row["kind"])
        folded = Folded(row["fingerprint"], row[column], seen[offsets[place] : offsets[place + 1]])
        groups[row["cluster"], row["consumer_group"]][row["kind"]][row["name"]].append(folded)
    return dict(groups)


def _history(cluster: str, group: str, found: _Group, measured: Readings) -> GroupHistory:
    def by_name(kind: str, value: Callable[[Sequence[Folded]], Any]) -> dict[str, Any]:
        return {name: value(folded) for name, folded in sorted(found.get(kind, {}).items())}

    def layouts(folded: Iterable[Folded]) -> list[Layout]:
        return [
            ([*zip(one.state["broker_name"], one.state["queue_id"], strict=True)], measured.of(one.fingerprint))
            for one in folded
        ]

    return GroupHistory(
        cluster,
        group,
        memberships=by_name(MEMBERSHIP, lambda folded: _series(folded, membership)),
        routes=by_name(ROUTE, lambda folded: _series(folded, route)),
        serving=by_name(ROUTE, lambda folded: _series(folded, lambda state: serving(state["addresses"]))),
        clients=by_name(CLIENT, lambda folded: _client(folded, measured)),
        offsets=by_name(OFFSET_QUEUES, lambda folded: measured.offsets(layouts(folded))),
        topics=by_name(TOPIC_QUEUES, lambda folded: measured.topics(layouts(folded))),
        proxies=by_name(PROXY, lambda folded: _series(folded, membership)),
        captured=by_name(CAPTURED, lambda folded: Sightings.of(folded[0].times)).get(group, NEVER),
        readable=by_name(READABLE, lambda folded: {one.state: Sightings.of(one.times) for one in folded}),
    )


def _series(folded: Sequence[Folded], value: Callable[[Any], State]) -> Series[State]:
    """States that are the same in their normal form have one code; of each time the gate let one snapshot through."""
    codes, states = _coded([value(one.state) for one in folded])
    times, first = np.unique(np.concatenate([one.times for one in folded]), return_index=True)
    return Series(times, np.repeat(codes, [len(one.times) for one in folded])[first], states)


def _client(folded: Sequence[Folded], measured: Readings) -> ClientHistory:
    codes, states = _coded([client_state(one.state) for one in folded])
    found = [measured.of(one.fingerprint) for one in folded]
    places = np.concatenate(found)
    order = measured.in_order(places)
    of_readings = np.repeat(codes, [len(at) for at in found])
    series: Series[ClientState] = Series(measured.times[places[order]], of_readings[order], states)
    return ClientHistory(series, measured.clients(places[order]))


def _coded(states: Sequence[State]) -> tuple[Numbers, list[State]]:
    """The distinct states, and for each given one its place among them."""
    codes: dict[State, int] = {}
    return np.array([codes.setdefault(state, len(codes)) for state in states], dtype=np.int64), list(codes)
