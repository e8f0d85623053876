"""The rows that Spark gathered of a group, as the history that the kernel evaluates: its few states from dicts to
values in their normal form, its samples as matrices.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.history import (
    DEAD_LETTERS,
    ClientHistory,
    ClientState,
    GroupHistory,
    Membership,
)
from spark_jobs.domain.model.series import NO_SIGHTINGS, Series, Sightings, State, coded
from spark_jobs.pipeline.exchange import (
    CAPTURED,
    CLIENT,
    DELETED,
    MEMBERSHIP,
    OFFSETS,
    READABLE,
    ROUTE,
    TOPIC,
    UNANSWERED,
    Kind,
)
from spark_jobs.pipeline.gather.samples import Layout, Numbers, Samples
from spark_jobs.pipeline.gather.states import (
    client_state,
    is_listed,
    masterless,
    membership,
    readable,
    route,
    server_routes,
    serving,
)
from spark_jobs.store.arrow import one_array


class Folded(NamedTuple):
    """One state of one key, and the `snapshots` that show it: their times, or the places of their samples."""

    state: Any
    snapshots: Numbers


#: By the name of the broker, topic or client; and that by kind, of a group or of all topics.
_ByName = Mapping[str, Sequence[Folded]]
_ByKind = Mapping[str, _ByName]


def histories(states: pa.Table, samples: pa.Table) -> list[GroupHistory]:
    """One per (cluster, consumer group) with `counted` states in this part, with the states of its topics and of its
    cluster's proxies. A sample belongs to the states of its fingerprint.
    """
    times, measured = one_array(states["times"]), Samples(samples)
    every_time, offsets = times.values.to_numpy(), times.offsets.to_numpy()
    by_group: dict[tuple[str, str | None], dict[str, dict[str, list[Folded]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    groups = set[tuple[str, str]]()
    for place, row in enumerate(states.drop_columns(["times"]).to_pylist()):
        key, fingerprint = (row["cluster"], row["consumer_group"]), row["fingerprint"]
        of_times = every_time[offsets[place] : offsets[place + 1]]
        folded = Folded(row.get(row["kind"]), of_times if fingerprint is None else measured.of(fingerprint))
        if len(folded.snapshots):
            by_group[key][row["kind"]][row["name"]].append(folded)
            if row["counted"] and None not in key:
                groups.add(key)
    return [
        _history(
            cluster,
            group,
            by_group[cluster, group],
            by_group[cluster, None],
            by_group[cluster, PROXIES_GROUP],
            measured,
        )
        for cluster, group in sorted(groups)
    ]


def _history(
    cluster: str, group: str, own: _ByKind, of_topics: _ByKind, of_proxies: _ByKind, measured: Samples
) -> GroupHistory:
    """`of_topics`: the states of all topics. Of its dead-letter topic, which it does not consume, a group has only the
    queues' offsets; without a snapshot of its own it has nothing of topics and proxies.
    """
    memberships = _by_name(own[MEMBERSHIP.name], membership)
    clients = {name: _client(folded, measured) for name, folded in sorted(own[CLIENT.name].items())}
    answers: list[Membership | ClientState] = [state for series in memberships.values() for state in series.states]
    answers += (state for client in clients.values() for state in client.series.states)
    subscribed = {topic for state in answers for topic in state.topics or ()}
    topics, dead_letters = subscribed | own[OFFSETS.name].keys(), {DEAD_LETTERS + group}
    is_recorded = bool(answers or own[OFFSETS.name])
    routes, readable_queues = (_of(topics - dead_letters, of_topics[kind]) for kind in (ROUTE.name, READABLE))
    queues = _of(topics | dead_letters, of_topics[TOPIC.name]) if is_recorded else {}
    return GroupHistory(
        cluster,
        group,
        memberships=memberships,
        routes=_by_name(routes, route),
        serving=_by_name(routes, serving),
        masterless=_by_name(routes, masterless),
        server_routes=_by_name(_with_any(routes, lambda state: state["name_servers"]), server_routes),
        topics_listed=_by_name(_with_any(routes, lambda state: is_listed(state) is False), is_listed),
        clients=clients,
        offsets={topic: measured.offsets(listed) for topic, listed in _layouts(OFFSETS, own[OFFSETS.name])},
        topics={topic: measured.topics(listed) for topic, listed in _layouts(TOPIC, queues)},
        proxies=_by_name(of_proxies[MEMBERSHIP.name], membership) if is_recorded else {},
        unanswered=_by_name(own[UNANSWERED], str),
        captured=_seen(own[CAPTURED].get(group)),
        deleted=_seen(own[DELETED].get(group)),
        readable={
            topic: {readable(row): Sightings.of(times) for row, times in folded}
            for topic, folded in readable_queues.items()
        },
    )


def _of(names: Collection[str], every: _ByName) -> _ByName:
    return {name: every[name] for name in names if name in every}


def _with_any(every: _ByName, condition: Callable[[Any], Any]) -> _ByName:
    """Those of which a state meets the condition."""
    return {name: folded for name, folded in every.items() if any(condition(state) for state, _ in folded)}


def _by_name(every: _ByName, value: Callable[[Any], State]) -> dict[str, Series[State]]:
    return {name: _series(folded, value) for name, folded in sorted(every.items())}


def _seen(folded: Sequence[Folded] | None) -> Sightings:
    return Sightings.of(folded[0].snapshots) if folded else NO_SIGHTINGS


def _layouts(kind: Kind, every: _ByName) -> Iterator[tuple[str, list[Layout]]]:
    for name, folded in sorted(every.items()):
        listed = (([state[kind.array][it] for it in kind.listed], places) for state, places in folded)
        yield name, [([*zip(*lists, strict=True)], places) for lists, places in listed]


def _series(folded: Sequence[Folded], value: Callable[[Any], State]) -> Series[State]:
    """States that are the same in their normal form have one code; of each time the gate let one snapshot through."""
    codes, states = coded(value(state) for state, _ in folded)
    times, first = np.unique(np.concatenate([times for _, times in folded]), return_index=True)
    return Series(times, np.repeat(codes, [len(times) for _, times in folded])[first], states)


def _client(folded: Sequence[Folded], measured: Samples) -> ClientHistory:
    series = _series([Folded(state, measured.times[places]) for state, places in folded], client_state)
    places = np.concatenate([places for _, places in folded])
    return ClientHistory(series, measured.clients(places[measured.in_order(places)]))
