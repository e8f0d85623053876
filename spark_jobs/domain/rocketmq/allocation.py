"""RocketMQ's allocation strategies, position by position.

A strategy divides the queues among the *positions* of the sorted client list. A client looks itself up by its id and so
takes the share of the id's first position; no client takes those of the later ones. Source: the classes that implement
`AllocateMessageQueueStrategy`. Machine rooms are RocketMQ's own `room@broker` names, or found in names by a pattern.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import md5
from typing import NamedTuple
from zlib import crc32

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    NEW,
    Holders,
    Strategy,
    Variant,
)
from spark_jobs.errors import StrategyError


class KeepsAllocation(Exception):  # noqa: N818 - not an error of the audit: RocketMQ's client goes on as it was
    """The allocation throws (Java `IllegalArgumentException`, same text), so the client keeps what it had."""


class Share(NamedTuple):
    """A queue, by its index in `mqAll`, lies in the share of a position of `cidAll`."""

    queue: int
    position: int


def shares(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> list[Share]:
    """One per (queue, position in whose share it lies), if any; CONSISTENT_HASH and CONFIG know ids only, and give a
    queue to the id's first position. Raises `KeepsAllocation` for an unresolvable room, `StrategyError` for missing
    settings.
    """
    if not queues or not client_ids:
        return []
    if strategy.settings_missing and strategy.name != CONFIG:
        raise StrategyError(f"{strategy.name} cannot be replayed without its rooms: configure them")
    if strategy.holders is not None:
        pairs = _as_reported(strategy.holders, queues, client_ids)
    elif strategy.name == CONFIG:
        pairs = _config(strategy, queues, client_ids)
    elif strategy.name == MACHINE_ROOM:
        pairs = _machine_room(strategy, queues, len(client_ids))
    elif strategy.base == MACHINE_ROOM_NEARBY and strategy.variant == Variant.GO:
        # `AllocateByMachineNearby` of consumer/strategy.go is a TODO that calls AllocateByAveragely.
        pairs = _averagely(len(queues), len(client_ids))
    elif strategy.base == MACHINE_ROOM_NEARBY:
        pairs = _nearby(strategy, queues, client_ids)
    else:
        pairs = _plain(strategy, strategy.name, queues, client_ids)
    return [Share(*pair) for pair in pairs]


_Pairs = Iterator[tuple[int, int]]


def _plain(strategy: Strategy, name: str, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> _Pairs:
    """The strategies that can also stand inside MACHINE_ROOM_NEARBY; `name`: which of them."""
    if name == AVG:
        return _averagely(len(queues), len(client_ids))
    if name == AVG_BY_CIRCLE:
        return _by_circle(len(queues), len(client_ids))
    if name == CONSISTENT_HASH:
        return _consistent_hash(strategy, queues, client_ids)
    raise StrategyError(f"{name} gives no client a share: the broker assigns")


def _averagely(queue_count: int, member_count: int) -> _Pairs:
    """Contiguous slices; the first `queue_count % member_count` positions get one more."""
    mod = queue_count % member_count
    for position in range(member_count):
        has_extra = position < mod
        size = 1 if queue_count <= member_count else queue_count // member_count + has_extra
        start = position * size if has_extra else position * size + mod
        for queue in range(start, min(start + size, queue_count)):
            yield queue, position


def _by_circle(queue_count: int, member_count: int) -> _Pairs:
    """Like dealing cards."""
    return ((queue, queue % member_count) for queue in range(queue_count))


def _consistent_hash(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> _Pairs:
    """The ring knows ids, not positions: an id that is there twice has one share, in Java a larger one."""
    make = go_ring if strategy.variant == Variant.GO else java_ring
    ring, first_of = make(client_ids, strategy.virtual_node_cnt), first_positions(client_ids)
    for index, queue in enumerate(queues):
        owner = ring.owner(str(queue))
        if owner is not None:
            yield index, first_of[owner]


def _config(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> _Pairs:
    """Pairs that are configured and in the route; several ids may have the same queue."""
    places = {queue: index for index, queue in enumerate(queues)}
    for client_id, position in first_positions(client_ids).items():
        for queue in dict.fromkeys(strategy.configured_queues(client_id) or ()):
            if queue in places:
                yield places[queue], position


def _as_reported(holders: Holders, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> _Pairs:
    """Pairs that clients hold by an unknown strategy."""
    first_of, held_by = first_positions(client_ids), {(broker, number): who for who, broker, number in holders}
    for index, queue in enumerate(queues):
        position = first_of.get(held_by.get((queue.broker_name, queue.queue_id), ""))
        if position is not None:
            yield index, position


def first_positions(client_ids: Sequence[str]) -> dict[str, int]:
    """The first position of every client id: the one whose share all its connections compute."""
    return {client_id: position for position, client_id in reversed(list(enumerate(client_ids)))}


def _machine_room(strategy: Strategy, queues: Sequence[MessageQueue], member_count: int) -> _Pairs:
    """Equal slices of the queues in the rooms; what is left over goes one by one to the first positions.

    Go and Java up to 4.7.1 count the queues in the rooms, but cut the slices from the beginning of the whole list.
    """
    in_rooms = queues_in_rooms(strategy, queues)
    size = len(in_rooms) // member_count
    in_slices = size * member_count
    sliced = in_rooms[:in_slices] if strategy.variant == Variant.JAVA else range(in_slices)
    for place, index in enumerate([*sliced, *in_rooms[in_slices:]]):
        yield index, place // size if place < in_slices else place - in_slices


def queues_in_rooms(strategy: Strategy, queues: Sequence[MessageQueue]) -> list[int]:
    """Indexes of the queues that MACHINE_ROOM finds in the configured rooms."""
    rooms = strategy.rooms or frozenset()
    return [index for index, queue in enumerate(queues) if machine_room(queue.broker_name, strategy.variant) in rooms]


def _nearby(strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]) -> _Pairs:
    """The inner strategy, room by room: over the room's own positions, or over all where it has no client."""
    queues_of, positions_of = by_room(strategy, queues, client_ids)
    for room, indexes in queues_of.items():
        positions = positions_of.get(room, range(len(client_ids)))
        inner = _plain(
            strategy,
            strategy.inner or "",
            [queues[index] for index in indexes],
            [client_ids[position] for position in positions],
        )
        for queue, position in inner:
            yield indexes[queue], positions[position]


def by_room(
    strategy: Strategy, queues: Sequence[MessageQueue], client_ids: Sequence[str]
) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Per room the indexes of its queues and the positions of its clients; raises `KeepsAllocation`."""
    queues_of: dict[str, list[int]] = defaultdict(list)
    positions_of: dict[str, list[int]] = defaultdict(list)
    for index, queue in enumerate(queues):
        room = room_of(strategy.broker_room or "", queue.broker_name)
        if room is None:
            raise KeepsAllocation(f"Machine room is null for mq {queue}")
        queues_of[room].append(index)
    for position, client_id in enumerate(client_ids):
        is_new = client_id.startswith(NEW)
        room = strategy.new_room if is_new else room_of(strategy.client_room or "", client_id)
        if room is None:
            raise KeepsAllocation(f"Machine room is null for consumer id {client_id}")
        positions_of[room].append(position)
    return dict(queues_of), dict(positions_of)


def unresolvable_room(
    strategy: Strategy, topic: str, places: Iterable[tuple[str, int]], client_ids: Sequence[str]
) -> str | None:
    """Why MACHINE_ROOM_NEARBY throws, so that every client keeps what it had: a broker or a client is in no room.

    None: it does not, as no other strategy does. `places`: (broker name, queue id).
    """
    if strategy.base != MACHINE_ROOM_NEARBY or strategy.variant == Variant.GO or strategy.settings_missing:
        return None
    try:
        by_room(strategy, [MessageQueue(topic, *place) for place in places], client_ids)
    except KeepsAllocation as why:
        return str(why)
    return None


def java_split(text: str, separator: str) -> list[str]:
    """Parts as Java's `String.split` gives them: without trailing empty ones, unless nothing was split."""
    if separator not in text:
        return [text]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts


def machine_room(broker_name: str, variant: Variant = Variant.JAVA) -> str | None:
    """Room of MACHINE_ROOM: what precedes the `@` of a name of two parts (it may be empty), else None.

    Go keeps trailing empty parts: `room@` has two for it, and `room@broker@` three.
    """
    parts = broker_name.split("@") if variant == Variant.GO else java_split(broker_name, "@")
    return parts[0] if len(parts) == 2 else None


def room_of(pattern: str, name: str) -> str | None:
    """Room of MACHINE_ROOM_NEARBY: the pattern's group where it is first found; None if absent or empty."""
    match = re.search(pattern, name)
    return (match.group(1) or None) if match else None


class HashRing:
    """Client ids by the hash of their virtual nodes; of equal hashes the later. `search`: a node for a text's hash."""

    def __init__(
        self, owners: Mapping[int, str], hash_of: Callable[[str], int], search: Callable[[Sequence[int], int], int]
    ) -> None:
        self._owners, self._hash_of, self._search = owners, hash_of, search
        self._hashes = sorted(owners)

    def owner(self, text: str) -> str | None:
        """The client id of the text's node, behind the last one the ring's first; None on an empty ring."""
        if not self._hashes:
            return None
        place = self._search(self._hashes, self._hash_of(text))
        return self._owners[self._hashes[place % len(self._hashes)]]


@lru_cache(maxsize=65_536)  # members and queues of a group come again in every state of it
def java_hash(text: str) -> int:
    """First four bytes of the MD5 of the UTF-8 text, big-endian, unsigned; a lone surrogate counts as '?'."""
    digest = md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


def java_ring(client_ids: Sequence[str], virtual_node_cnt: int, hash_of: Callable[[str], int] = java_hash) -> HashRing:
    """A text has the first node at or after its hash; a repeated id gets more nodes (`getExistingReplicas`)."""
    owners: dict[int, str] = {}
    node_counts: Counter[str] = Counter()
    for client_id in client_ids:
        existing = node_counts[client_id]
        for number in range(existing, existing + virtual_node_cnt):
            node = hash_of(f"{client_id}-{number}")
            if node in owners:
                node_counts[owners[node]] -= 1
            owners[node] = client_id
            node_counts[client_id] += 1
    return HashRing(owners, hash_of, bisect_left)


def go_hash(text: str) -> int:
    """CRC-32 (IEEE) of the UTF-8 text; a lone surrogate counts as '?', as Java writes it to the wire."""
    return crc32(text.encode("utf-8", "replace"))


def go_ring(client_ids: Sequence[str], virtual_node_cnt: int) -> HashRing:
    """The ring of Go's client, `stathat.com/c/consistent` v1.0.0: a text has the first node after its hash, not at it.

    Nodes are `<number><client id>`. A client id that comes again has the same nodes, so its share does not grow.
    """
    numbers = range(virtual_node_cnt)
    owners = {go_hash(f"{number}{client_id}"): client_id for client_id in client_ids for number in numbers}
    return HashRing(owners, go_hash, bisect_right)
