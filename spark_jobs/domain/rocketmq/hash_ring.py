"""The hash rings of CONSISTENT_HASH: Java's (`ConsistentHashRouter`, by default with its MD5 hash) and Go's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import md5
from zlib import crc32


@lru_cache(maxsize=65_536)  # members and queues of a group come again in every state of it
def ring_hash(text: str) -> int:
    """First four bytes of the MD5 of the UTF-8 text, big-endian, unsigned; a lone surrogate counts as '?'."""
    digest = md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


class HashRing:
    """Virtual nodes of all clients; `owner` finds the client id of a text, or None on an empty ring.

    A client id that comes again gets further nodes, numbered from the count of nodes that the ring still
    holds of it (`getExistingReplicas`); a later node replaces an earlier one of equal hash, whoever owned it.
    """

    def __init__(
        self, client_ids: Sequence[str], virtual_node_cnt: int, hash_of: Callable[[str], int] = ring_hash
    ) -> None:
        owners: dict[int, str] = {}
        held: Counter[str] = Counter()
        for client_id in client_ids:
            existing = held[client_id]
            for number in range(existing, existing + virtual_node_cnt):
                node = hash_of(f"{client_id}-{number}")
                if node in owners:
                    held[owners[node]] -= 1
                owners[node] = client_id
                held[client_id] += 1
        self._hash_of, self._owners = hash_of, owners
        self._hashes = sorted(owners)

    def owner(self, text: str) -> str | None:
        """Client id of the first node at or after the text's hash, else of the ring's first node."""
        if not self._hashes:
            return None
        place = bisect_left(self._hashes, self._hash_of(text))
        return self._owners[self._hashes[place % len(self._hashes)]]


def go_ring_hash(text: str) -> int:
    """CRC-32 (IEEE) of the UTF-8 text; a lone surrogate counts as '?', as Java writes it to the wire."""
    return crc32(text.encode("utf-8", "replace"))


class GoHashRing:
    """The ring of Go's client: `stathat.com/c/consistent` v1.0.0.

    Nodes are `<number><client id>`. A client id that comes again has the same nodes, so its share does not grow. A
    later node replaces an earlier one of equal hash.
    """

    def __init__(self, client_ids: Sequence[str], virtual_node_cnt: int) -> None:
        numbers = range(virtual_node_cnt)
        self._owners = {
            go_ring_hash(f"{number}{client_id}"): client_id for client_id in client_ids for number in numbers
        }
        self._hashes = sorted(self._owners)

    def owner(self, text: str) -> str | None:
        """Client id of the first node after the text's hash (not at it), else of the ring's first node."""
        if not self._hashes:
            return None
        place = bisect_right(self._hashes, go_ring_hash(text))
        return self._owners[self._hashes[place % len(self._hashes)]]
