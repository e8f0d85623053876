"""The arithmetic of one allocation, as sentences: sizes by index (from 0), and queues without owner."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from spark_jobs.domain.model.message_queue import MessageQueue, queue_ranges, sort_client_ids
from spark_jobs.domain.phrases import count, joined_names
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, by_room, queues_in_rooms, shares
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
from spark_jobs.show.rows import Row
from spark_jobs.show.text.phrases import VARIANTS, positions_text, shares_text

Queues = Sequence[MessageQueue]
ClientIds = Sequence[str]
#: Configured lists that are written out, at most.
_MOST_LISTS = 8


def arithmetic(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> list[str]:
    """Sentences: how the strategy divides the sorted queues among the positions of the sorted members."""
    if not client_ids:
        return ["No member was connected, so none computed its queues."]
    try:
        return list(_SENTENCES[strategy.base](strategy, queues, client_ids))
    except (KeepsAllocation, StrategyError):
        return ["The configuration of the newest run does not say how. The owners below are those of the replay."]


def sizes(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> dict[int, int]:
    """Number of queues in the share of each position, whoever takes it; raises as `domain.allocation.shares` does."""
    queue_counts = Counter(share.position for share in shares_of(strategy, queues, client_ids))
    return {position: queue_counts[position] for position in range(len(client_ids))}


def _averagely(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    q, n, share_sizes = len(queues), len(client_ids), sizes(strategy, queues, client_ids)
    counts = f"{count(q, 'queue')}, {count(n, 'member')}"
    if n == 1:
        yield f"{counts}: index 0 gets all."
    elif q < n:
        yield f"{counts}: not enough for all, so {shares_text(share_sizes)}."
    else:
        yield f"{counts}: {q:,} % {n:,} = {q % n:,}, so {shares_text(share_sizes, n)}, in consecutive slices."


def _by_circle(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    q, n, share_sizes = len(queues), len(client_ids), sizes(strategy, queues, client_ids)
    rule = f"queue i of the list goes to index i % {n:,}"
    yield f"{count(q, 'queue')}, {count(n, 'member')}, dealt in turn: {rule}, so {shares_text(share_sizes, n)}."


def _config(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    lists: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for queue, position in shares(strategy, queues, client_ids):
        lists[position].append((queues[queue].broker_name, queues[queue].queue_id))
    yield "Every client owns the queues of its configured list, whatever the other members are."
    if not lists:
        yield "No list contains a queue of this topic."
        return
    listed_positions = [
        f"index {position} has {queue_ranges(queues_listed)}" for position, queues_listed in sorted(lists.items())
    ]
    if more := listed_positions[_MOST_LISTS:]:
        listed_positions[_MOST_LISTS:] = [f"{len(more):,} more indexes have lists"]
    yield f"Of this topic, {joined_names(listed_positions)}."
    list_counts = Counter(queue for queues_listed in lists.values() for queue in queues_listed)
    in_several = [queue for queue, times in list_counts.items() if times > 1]
    in_none = [(queue.broker_name, queue.queue_id) for queue in queues if queue[1:] not in list_counts]
    if in_several:
        yield f"{queue_ranges(in_several)} {_are(in_several)} in more than one list."
    if in_none:
        yield f"{queue_ranges(in_none)} {_are(in_none)} in none."


def _are(queues: Sequence[object]) -> str:
    return "is" if len(queues) == 1 else "are"


def _machine_room(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    share_sizes, n = sizes(strategy, queues, client_ids), len(client_ids)
    rooms = ", ".join(sorted(strategy.rooms or ()))
    in_rooms = len(queues_in_rooms(strategy, queues))
    per_member, left_over = divmod(in_rooms, n)
    yield (
        f"Only brokers named room@broker, with a configured room ({rooms}), count: {in_rooms:,} of "
        f"{count(len(queues), 'queue')}."
    )
    remainder = f"the {left_over:,} left over go to the first" if left_over > 1 else "the 1 left over goes to the first"
    yield (
        f"{count(in_rooms, 'queue')}, {count(n, 'member')}: {in_rooms:,} // {n:,} = {per_member:,} for everyone, "
        f"{remainder if left_over else 'and none is left over'}, so {shares_text(share_sizes, n)}."
    )
    if in_rooms < len(queues) and strategy.variant == Variant.JAVA:
        yield f"No member owns the other {count(len(queues) - in_rooms, 'queue')}, by design."
    elif in_rooms < len(queues):
        yield (
            "Go, and Java up to 4.7.1, take the slices from the start of the list of all queues, whatever the room: "
            f"no member owns the last {count(len(queues) - in_rooms, 'queue')}."
        )


def _nearby(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    room_queues, room_positions = by_room(strategy, queues, client_ids)
    inner = Strategy(strategy.inner or "", strategy.virtual_node_cnt)
    yield f"Each room is divided separately, by {inner.name}."
    for room, indexes in sorted(room_queues.items()):
        positions = room_positions.get(room, list(range(len(client_ids))))
        local_sizes = sizes(
            inner, [queues[index] for index in indexes], [client_ids[position] for position in positions]
        )
        share_sizes = {positions[local_position]: size for local_position, size in local_sizes.items()}
        members = f"{count(len(positions), 'member')} in it"
        if room not in room_positions:
            members = f"no member in it, so all {len(positions):,} members share them"
        q, n = len(indexes), len(positions)
        remainder = f"{q:,} % {n:,} = {q % n:,}, so " if inner.name != CONSISTENT_HASH and 1 < n <= q else ""
        shares_of_all = shares_text(share_sizes, len(client_ids))
        yield f"Room {room}: {count(len(indexes), 'queue')}, {members}: {remainder}{shares_of_all}."
    if len(room_queues) > 1:
        yield f"In total, {shares_text(sizes(strategy, queues, client_ids), len(client_ids))}."


def _consistent_hash(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    points = strategy.virtual_node_cnt
    if not points:
        yield "Every member has 0 points on the hash ring, so no member gets a queue."
        return
    share_sizes = sizes(strategy, queues, client_ids)
    owned = {client_ids.index(client_id): share_sizes[client_ids.index(client_id)] for client_id in client_ids}
    is_go = strategy.variant == Variant.GO
    ring = "Go's hash ring" if is_go else "the hash ring"
    yield (
        f"Every member has {count(points, 'point')} on {ring}, and a queue goes to the first point "
        f"{'after' if is_go else 'at or after'} its own hash."
    )
    yield f"Of {count(len(queues), 'queue')}, {shares_text(owned, len(client_ids))}."


def _popped(strategy: Strategy, queues: Queues, client_ids: ClientIds) -> Iterator[str]:
    inner, share = parts(strategy)
    share_sizes, q, n = sizes(strategy, queues, client_ids), len(queues), len(client_ids)
    counts = f"{count(q, 'queue')}, {count(n, 'member')}"
    if n > q:
        yield f"The broker assigns the queues. {counts}: index i may pop only queue i % {q:,} of the list."
        return
    extra = "those of the next index" if share == 1 else f"those of the next {share:,} indexes"
    yield f"The broker assigns the queues. {counts}: every member may pop its queues by {inner.name} and {extra}."
    yield f"So {shares_text(share_sizes, n)}."


_SENTENCES: Mapping[str, Callable[[Strategy, Queues, ClientIds], Iterator[str]]] = {
    AVG: _averagely,
    AVG_BY_CIRCLE: _by_circle,
    CONFIG: _config,
    MACHINE_ROOM: _machine_room,
    MACHINE_ROOM_NEARBY: _nearby,
    CONSISTENT_HASH: _consistent_hash,
    POP: _popped,
}


def allocation_arithmetic(members: Sequence[Row], topic: str, queues: Queues) -> list[str]:
    """Sentences: the arithmetic of each strategy of the sorted `members`, then the queues without owner, and why.

    A member is a row of `members` with the `Strategy` that it runs as its `strategy`; its `client_id` can repeat.
    """
    client_ids = [member["client_id"] for member in members]
    used = {member["strategy"] for member in members}
    strategies = sorted(used, key=lambda strategy: (strategy.name, strategy.variant))
    if len(strategies) < 2:
        strategy = strategies[0] if strategies else Strategy(AVG)
        return [*arithmetic(strategy, queues, client_ids), *_lost_shares(strategy, members, topic, queues)]
    names = {strategy.name for strategy in strategies}
    rules = "its own strategy" if len(names) > 1 else "the rules of its language and version"
    sentences = [f"Each member computes with {rules}, and takes only the queues of its own index."]
    for strategy in strategies:
        positions = positions_text([position for position, each in enumerate(members) if each["strategy"] == strategy])
        name, computation = f"{strategy.name}{VARIANTS[strategy.variant]}", arithmetic(strategy, queues, client_ids)
        sentences += [f"By {name} ({positions}): {' '.join(computation)}"]
    return [*sentences, *_lost_shares(None, members, topic, queues)]


def _lost_shares(strategy: Strategy | None, members: Sequence[Row], topic: str, queues: Queues) -> Iterator[str]:
    client_ids = [member["client_id"] for member in members]
    duplicate_ids = sort_client_ids(client_id for client_id, times in Counter(client_ids).items() if times > 1)
    share_sizes = None
    if duplicate_ids and strategy:
        with suppress(KeepsAllocation, StrategyError):
            share_sizes = sizes(strategy, queues, client_ids)
    for client_id in duplicate_ids:
        yield _duplicate_id(client_id, strategy, client_ids, share_sizes)
    unsubscribed = [position for position, member in enumerate(members) if member["subscribes"] is False]
    if unsubscribed and len(unsubscribed) < len(members):
        positions, is_single = positions_text(unsubscribed).capitalize(), len(unsubscribed) == 1
        consequence = "counts: its queues have no owner" if is_single else "count: their queues have no owner"
        yield f"{positions} {'does' if is_single else 'do'} not consume {topic} for the group, but still {consequence}."


def _duplicate_id(
    client_id: str, strategy: Strategy | None, client_ids: Sequence[str], share_sizes: Mapping[int, int] | None
) -> str:
    positions = [position for position, member_id in enumerate(client_ids) if member_id == client_id]
    first, later = positions[0], positions[1:]
    listed = f"{client_id} is listed {len(positions)} times, at {positions_text(positions)}"
    if strategy and strategy.name == CONSISTENT_HASH:
        points = strategy.virtual_node_cnt * (1 if strategy.variant == Variant.GO else len(positions))
        return (
            f"{listed}: it has {count(points, 'point')}, and each of its connections takes their queues. No queue "
            "loses its owner, but all of these are consumed more than once."
        )
    if strategy and strategy.name == CONFIG:
        return f"{listed}: each of its connections owns the queues of the same list."
    if strategy and is_popped(strategy.name):
        return f"{listed}: each of its connections may pop the same queues as the first, index {first}."
    listed += f": each of its connections computes the queues of the first, index {first}."
    if share_sizes is None:
        return f"{listed} No member owns the queues of its other indexes."
    lost_queues = sum(share_sizes[position] for position in later)
    if not lost_queues:
        return f"{listed} {positions_text(later).capitalize()} would get none, so no queue loses its owner."
    return f"{listed} No member owns the queues of {positions_text(later)} ({count(lost_queues, 'queue')})."
