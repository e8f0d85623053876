"""The agreement of two histories of the same queues, by second: owners by the audit, and queues that clients report.

An ownership is per (topic, `broker:queue`) and second the ids of the clients that own the queue.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple

Queue = tuple[str, str]
Owners = Mapping[int, frozenset[str]]
Ownership = Mapping[Queue, Owners]
#: What stands for the owners while brokers list different members: it equals nothing that a client says.
SPLIT = frozenset({"brokers list different members"})
_ALL_HOSTS = "*"


class Holder(NamedTuple):
    """The queues of one process, in order of time: (seconds, topic or `*`, its queues); `suspended`: when it was."""

    client_id: str
    changes: Sequence[tuple[float, str, frozenset[str]]]
    suspended: Sequence[tuple[float, float]]

    def seconds(self, queue: Queue, until: int) -> set[int]:
        """When it held the queue."""
        topic, name = queue
        of_topic = [(at, name in queues) for at, topic_of, queues in self.changes if topic_of in ("*", topic)]
        spans = pairwise([*of_topic, (until, False)])
        return {second for (at, holds), (end, _) in spans if holds for second in range(ceil(at), ceil(end))}

    def is_suspended(self, second: int) -> bool:
        return any(since <= second <= until for since, until in self.suspended)


def owned(allocations: Iterable[Mapping[str, Any]]) -> Ownership:
    """The owners of a group's readable queues, by rows of `allocations` whose times are UTC; not of retry topics."""
    owners: dict[Queue, dict[int, frozenset[str]]] = defaultdict(dict)
    for row in allocations:
        if row["readable"] and not row["topic"].startswith("%"):
            of_queue = owners[row["topic"], f"{row['broker_name']}:{row['queue_id']}"]
            is_whole = row["membership_view"] == _ALL_HOSTS
            ids = frozenset(owner["client_id"] for owner in row["owners"]) if is_whole else SPLIT
            start, end = (ceil(_seconds(row[name])) for name in ("interval_start", "interval_end"))
            of_queue |= dict.fromkeys(range(start, end), ids)
    return owners


def _seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=UTC).timestamp()


def held(processes: Sequence[Holder], queues: Iterable[Queue], seconds: Sequence[int]) -> Ownership:
    """The holders of the queues, by the processes' own words."""
    found = {}
    for queue in queues:
        of_processes = [(process.client_id, process.seconds(queue, seconds[-1] + 1)) for process in processes]
        found[queue] = {second: frozenset(name for name, when in of_processes if second in when) for second in seconds}
    return found


def agreement(
    one: Ownership, other: Ownership, seconds: Sequence[int], near: int, processes: Sequence[Holder] = ()
) -> Counter[bool | None]:
    """How many seconds of all queues are equal (True) and not (False), and in which one of both does not know the queue
    (None); those around a change of a topic's owners do not count. Nobody knows what a suspended process holds.
    """
    found: Counter[bool | None] = Counter()
    queues = one.keys() | other.keys()
    for topic in {topic for topic, _ in queues}:
        of_topic = [(one.get(queue, {}), other.get(queue, {})) for queue in sorted(queues) if queue[0] == topic]
        around = _near_changes([owners for pair in of_topic for owners in pair], seconds, near)
        for second in seconds:
            if second not in around:
                stopped = {process.client_id for process in processes if process.is_suspended(second)}
                found.update(_equal(pair[0].get(second), pair[1].get(second), stopped) for pair in of_topic)
    return found


def _equal(one: frozenset[str] | None, other: frozenset[str] | None, unknown: set[str]) -> bool | None:
    return None if one is None or other is None else one - unknown == other - unknown


def _near_changes(owners: Sequence[Owners], seconds: Sequence[int], near: int) -> set[int]:
    changed = {
        second for second in seconds[1:] for of_queue in owners if of_queue.get(second - 1) != of_queue.get(second)
    }
    return {around for second in changed for around in range(second - near, second + near + 1)}
