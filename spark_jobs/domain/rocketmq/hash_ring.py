"""The hash rings of CONSISTENT_HASH: Java's (`ConsistentHashRouter`, by default with its MD5 hash) and Go's."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import md5
from zlib import crc32


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
