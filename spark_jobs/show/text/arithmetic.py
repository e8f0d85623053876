"""How a strategy cuts the queues: the arithmetic of one allocation, as sentences.

Positions are those of the sorted member list, from 0. The sizes come from the domain's own replay, so they are those of
the allocation. Shares that their position does not take are told of, too: twins, members that do not subscribe, mixed
strategies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue, queue_ranges, sort_client_ids
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rocketmq.allocation import KeepsWhatItHad, by_room, queues_in_rooms, shares
from spark_jobs.domain.rocketmq.pop import parts, shares_of
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    POP,
    Strategy,
    Variant,
    is_popped,
)
from spark_jobs.errors import StrategyError
from spark_jobs.show.text.phrases import VARIANTS, joined, positions_text, shares_text

Queues = Sequence[MessageQueue]
ClientIds = Sequence[str]
#: More configured lists than so many are not written out.
_MOST_LISTS = 8


def arithmetic(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> list[str]:
    """How the strategy divides the sorted queues among the positions of the sorted members."""
    if not client_ids:
        return ["No member was connected, so nobody computed a share."]
    try:
        return list(_SENTENCES[strategy.base](strategy, queues, client_ids))
    except (KeepsWhatItHad, StrategyError):
        return ["The configuration of the newest run does not say how. The owners below are those of the replay."]


def sizes(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> dict[int, int]:
    """Queues in the share of each position, whoever takes it; raises as `domain.allocation.shares` does."""
    found = Counter(share.position for share in shares_of(strategy, queues, client_ids))
    return {position: found[position] for position in range(len(client_ids))}


def _averagely(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    q, n, got = len(queues), len(client_ids), sizes(strategy, queues, client_ids)
    told = f"{count(q, 'queue')}, {count(n, 'member')}"
    if n == 1:
        yield f"{told}: position 0 gets all."
    elif q < n:
        yield f"{told}: not enough for all, so {shares_text(got)}."
    else:
        yield f"{told}: {q:,} % {n:,} = {q % n:,}, so {shares_text(got, n)}, in consecutive slices."


def _by_circle(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    q, n, got = len(queues), len(client_ids), sizes(strategy, queues, client_ids)
    dealt = f"queue i of the list goes to position i % {n:,}"
    yield f"{count(q, 'queue')}, {count(n, 'member')}, dealt in turn: {dealt}, so {shares_text(got, n)}."


def _config(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    lists: dict[int, list[tuple[str, int]]] = {}
    for queue, position in shares(strategy, queues, client_ids):
        lists.setdefault(position, []).append((queues[queue].broker_name, queues[queue].queue_id))
    yield "Every client owns the queues of its configured list, whatever the other members are."
    if not lists:
        yield "No list contains a queue of this topic."
        return
    told = [f"position {position} has {queue_ranges(listed)}" for position, listed in sorted(lists.items())]
    more = [f"{len(told) - _MOST_LISTS:,} more positions have lists"] if len(told) > _MOST_LISTS else []
    yield f"Of this topic, {joined(told[:_MOST_LISTS] + more)}."
    names = Counter(queue for listed in lists.values() for queue in listed)
    several = [queue for queue, times in names.items() if times > 1]
    none = [(queue.broker_name, queue.queue_id) for queue in queues if queue[1:] not in names]
    if several:
        yield f"{queue_ranges(several)} {_are(several)} in more than one list."
    if none:
        yield f"{queue_ranges(none)} {_are(none)} in none."


def _are(queues: Sequence[object]) -> str:
    return "is" if len(queues) == 1 else "are"


def _machine_room(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    got, n = sizes(strategy, queues, client_ids), len(client_ids)
    rooms = ", ".join(sorted(strategy.rooms or ()))
    in_rooms = len(queues_in_rooms(strategy, queues))
    each, rest = divmod(in_rooms, n)
    yield (
        f"Only brokers named room@broker, with a configured room ({rooms}), count: {in_rooms:,} of "
        f"{count(len(queues), 'queue')}."
    )
    over = f"the {rest:,} left over go to the first" if rest > 1 else "the 1 left over goes to the first"
    yield (
        f"{count(in_rooms, 'queue')}, {count(n, 'member')}: {in_rooms:,} // {n:,} = {each:,} for everyone, "
        f"{over if rest else 'and none is left over'}, so {shares_text(got, n)}."
    )
    if in_rooms < len(queues) and strategy.variant == Variant.JAVA:
        yield f"Nobody owns the other {count(len(queues) - in_rooms, 'queue')}, by design."
    elif in_rooms < len(queues):
        yield (
            "Go, and Java up to 4.7.1, take the slices from the start of the list of all queues, whatever the room: "
            f"nobody owns the last {count(len(queues) - in_rooms, 'queue')}."
        )


def _nearby(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    queues_of, positions_of = by_room(strategy, queues, client_ids)
    inner = Strategy(strategy.inner or "", strategy.virtual_node_cnt)
    yield f"Each room is divided separately, by {inner.name}."
    for room, indexes in sorted(queues_of.items()):
        positions = positions_of.get(room, list(range(len(client_ids))))
        local = sizes(inner, [queues[index] for index in indexes], [client_ids[position] for position in positions])
        got = {positions[place]: size for place, size in local.items()}
        who = f"{count(len(positions), 'member')} of its own"
        if room not in positions_of:
            who = f"no member of its own, so all {len(positions):,} members share them"
        rest = _remainder(inner.name, len(indexes), len(positions))
        yield f"Room {room}: {count(len(indexes), 'queue')}, {who}: {rest}{shares_text(got, len(client_ids))}."
    if len(queues_of) > 1:
        yield f"In total, {shares_text(sizes(strategy, queues, client_ids), len(client_ids))}."


def _remainder(name: str, q: int, n: int) -> str:
    return f"{q:,} % {n:,} = {q % n:,}, so " if name != CONSISTENT_HASH and 1 < n <= q else ""


def _consistent_hash(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    points = strategy.virtual_node_cnt
    if not points:
        yield "Every member has 0 points on the hash ring, so nobody gets a queue."
        return
    got = sizes(strategy, queues, client_ids)
    own = {client_ids.index(client_id): got[client_ids.index(client_id)] for client_id in client_ids}
    is_go = strategy.variant == Variant.GO
    ring = "Go's hash ring" if is_go else "the hash ring"
    yield (
        f"Every member has {count(points, 'point')} on {ring}, and a queue goes to the first point "
        f"{'after' if is_go else 'at or after'} its own hash."
    )
    yield f"Of {count(len(queues), 'queue')}, {shares_text(own, len(client_ids))}."


def _popped(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    inner, share = parts(strategy)
    got, q, n = sizes(strategy, queues, client_ids), len(queues), len(client_ids)
    told = f"{count(q, 'queue')}, {count(n, 'member')}"
    if n > q:
        yield f"The broker assigns the queues. {told}: position i may pop only queue i % {q:,} of the list."
        return
    helped = "that of the next position" if share == 1 else f"those of the next {share:,} positions"
    yield f"The broker assigns the queues. {told}: every member may pop its share by {inner.name} and {helped}."
    yield f"So {shares_text(got, n)}."


_SENTENCES: Mapping[str, Callable[[Strategy, Queues, ClientIds], Iterator[str]]] = {
    AVG: _averagely,
    AVG_BY_CIRCLE: _by_circle,
    CONFIG: _config,
    MACHINE_ROOM: _machine_room,
    MACHINE_ROOM_NEARBY: _nearby,
    CONSISTENT_HASH: _consistent_hash,
    POP: _popped,
}


class AllocatingMember(NamedTuple):
    """One connection of the group with the strategy that it runs, settings and all; twins share `client_id`."""

    client_id: str
    client_addr: str | None
    strategy: Strategy
    subscribes: bool


def how_it_was_cut(members: Sequence[AllocatingMember], topic: str, queues: Sequence[MessageQueue]) -> list[str]:
    """The arithmetic of every strategy that a member runs, then what keeps shares from being taken.

    Sentences; `members` come as every client sorts them, duplicates kept.
    """
    client_ids = [member.client_id for member in members]
    strategies = sorted({member.strategy for member in members}, key=lambda strategy: (strategy.name, strategy.variant))
    if len(strategies) < 2:
        strategy = strategies[0] if strategies else Strategy(AVG)
        return [*arithmetic(strategy, queues, client_ids), *_losses(strategy, members, topic, queues)]
    what = "its own strategy" if len({one.name for one in strategies}) > 1 else "the rules of its language and version"
    told = [f"Each member computes with {what}, and takes only the share of its own position."]
    for strategy in strategies:
        who = positions_text([place for place, member in enumerate(members) if member.strategy == strategy])
        name, how = f"{strategy.name}{VARIANTS[strategy.variant]}", arithmetic(strategy, queues, client_ids)
        told += [f"By {name} ({who}): {' '.join(how)}"]
    return [*told, *_losses(None, members, topic, queues)]


def _losses(
    strategy: Strategy | None, members: Sequence[AllocatingMember], topic: str, queues: Sequence[MessageQueue]
) -> Iterator[str]:
    client_ids = [member.client_id for member in members]
    twins = sort_client_ids(client_id for client_id, times in Counter(client_ids).items() if times > 1)
    got = _sizes(strategy, queues, client_ids) if twins and strategy else None
    for client_id in twins:
        yield _twins(client_id, strategy, client_ids, got)
    strangers = [place for place, member in enumerate(members) if not member.subscribes]
    if strangers and len(strangers) < len(members):
        where, one = positions_text(strangers).capitalize(), len(strangers) == 1
        told = "counts: nobody owns its share" if one else "count: nobody owns their shares"
        yield f"{where} {'does' if one else 'do'} not subscribe to {topic}, but still {told}."


def _twins(client_id: str, strategy: Strategy | None, client_ids: Sequence[str], got: Mapping[int, int] | None) -> str:
    places = [place for place, one in enumerate(client_ids) if one == client_id]
    first, later = places[0], places[1:]
    told = f"{client_id} is listed {len(places)} times, at {positions_text(places)}"
    if strategy and strategy.name == CONSISTENT_HASH:
        points = strategy.virtual_node_cnt * (1 if strategy.variant == Variant.GO else len(places))
        return (
            f"{told}: it has {count(points, 'point')} and one share, which each of its connections takes. No queue "
            "loses its owner, but the whole share is consumed more than once."
        )
    if strategy and strategy.name == CONFIG:
        return f"{told}: each of its connections owns the queues of the same list."
    if strategy and is_popped(strategy.name):
        return f"{told}: each of its connections may pop the same queues as the first of them, position {first}."
    told += f": each of its connections computes the share of the first of them, position {first}."
    if got is None:
        return f"{told} Nobody owns the shares of its other positions."
    lost = sum(got[place] for place in later)
    what = f"{'the share' if len(later) == 1 else 'the shares'} of {positions_text(later)}"
    if not lost:
        return f"{told} {what.capitalize()} would be empty, so no queue loses its owner."
    return f"{told} Nobody owns {what} ({count(lost, 'queue')})."


def _sizes(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> Mapping[int, int] | None:
    try:
        return sizes(strategy, queues, client_ids)
    except (KeepsWhatItHad, StrategyError):
        return None
