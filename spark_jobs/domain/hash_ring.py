"""The hash ring of CONSISTENT_HASH (Java `ConsistentHashRouter` with its MD5 hash)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from hashlib import md5


def ring_hash(text: str) -> int:
    """First four bytes of the MD5 of the UTF-8 text, big-endian, unsigned; a lone surrogate counts as '?'."""
    digest = md5(text.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[:4], "big")


class HashRing:
    """Virtual nodes of all clients; `owner` finds the client id of a text, or None on an empty ring.

    A client id that comes again gets further nodes, numbered from the count of nodes that the ring still
    holds of it; a later node replaces an earlier one of equal hash, whoever owned it.
    """

    def __init__(self, client_ids: Sequence[str], virtual_node_cnt: int) -> None:
        owners: dict[int, str] = {}
        held: Counter[str] = Counter()
        for client_id in client_ids:
            existing = held[client_id]
            for number in range(existing, existing + virtual_node_cnt):
                node = ring_hash(f"{client_id}-{number}")
                if node in owners:
                    held[owners[node]] -= 1
                owners[node] = client_id
                held[client_id] += 1
        self._owners = owners
        self._hashes = sorted(owners)

    def owner(self, text: str) -> str | None:
        """Client id of the first node at or after the text's hash, else of the ring's first node."""
        if not self._hashes:
            return None
        place = bisect_left(self._hashes, ring_hash(text))
        return self._owners[self._hashes[place % len(self._hashes)]]
