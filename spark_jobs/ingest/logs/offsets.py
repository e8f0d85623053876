"""Offsets that clients wrote into their logs, or a broker into its file, → samples of committed offsets.
Source: `RemoteBrokerOffsetStore` of Java clients, which writes each queue's offset every 5 s.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

from spark_jobs.ingest.logs.events import Committed

#: The default collection interval (ms), in which states are repeated, and a queue has one sample.
CADENCE: Final = 20_000


class Commit(NamedTuple):
    """A queue of a group in the collection interval of this number."""

    group: str
    topic: str
    number: int
    broker: str
    queue_id: int


#: When the last commit of a queue in a collection interval was (milliseconds), and its offset.
Commits = dict[Commit, tuple[int, int]]


def commit_of(event: Committed, at: int) -> Commit:
    """The queue, and the collection interval of that time (milliseconds)."""
    return Commit(event.group, event.queue.topic, at // CADENCE, event.queue.broker_name, event.queue.queue_id)


def committed(logged: Iterable[tuple[Commit, int, int]]) -> Commits:
    """The last commits, of (queue, milliseconds, offset); `number` becomes that of the time."""
    last: Commits = {}
    for commit, at, offset in logged:
        key = commit._replace(number=at // CADENCE)
        last[key] = max(last.get(key, (at, offset)), (at, offset))
    return last


def together(of_processes: Sequence[Commits]) -> Commits:
    """The last commits of several logs."""
    return committed((commit, *when) for commits in of_processes for commit, when in commits.items())


def offset_rows(commits: Mapping[Commit, tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """A line of a recording per group, topic and collection interval, at the time of its last commit."""
    for (group, topic, _), queues in groupby(sorted(commits), key=lambda commit: commit[:3]):
        of_queues = [(commit, *commits[commit]) for commit in queues]
        body = [[commit.broker, commit.queue_id, offset] for commit, _, offset in of_queues]
        at = max(at for _, at, _ in of_queues)
        yield {"kind": "committed", "at": at, "group": group, "topic": topic, "body": json.dumps(body)}
