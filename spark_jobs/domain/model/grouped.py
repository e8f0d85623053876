"""Values by a key that several of them have."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def by_key(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of each key; keys and items keep their order."""
    items_per_key: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        items_per_key[key(item)].append(item)
    return dict(items_per_key)
