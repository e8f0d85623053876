"""What a row of rebalances says of a group: storms, members that come and go, and what is consumed again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.domain.moves import host


class Storm(NamedTuple):
    """So many rebalances, from the first to the last."""

    first: datetime
    last: datetime
    rebalances: int


def moments(starts: Iterable[datetime], cadence: timedelta) -> list[datetime]:
    """The rebalances of a group, given the starts of its topics' intervals, in order.

    The recorder asks one thing after another, so one change starts the topics' intervals a little apart: a start less
    than half a cadence after the one before belongs to the same rebalance, which has the first one's time.
    """
    found: list[datetime] = []
    previous: datetime | None = None
    for start in sorted(starts):
        if previous is None or start - previous >= cadence / 2:
            found.append(start)
        previous = start
    return found


def storms(moments: Sequence[datetime], least: int, within: timedelta) -> list[Storm]:
    """Maximal runs in which `least` rebalances follow each other in less than `within`; runs that share one are one."""
    found: list[Storm] = []
    for first in range(len(moments) - least + 1):
        last = first + least - 1
        if moments[last] - moments[first] >= within:
            continue
        if found and found[-1].last >= moments[first]:
            begin = moments.index(found[-1].first)
            found[-1] = Storm(moments[begin], moments[last], last - begin + 1)
        else:
            found.append(Storm(moments[first], moments[last], least))
    return found


class FlappingCause(StrEnum):
    """How a member that comes and goes is recognised."""

    SAME_ID = "SAME_ID"
    NEW_ID_EACH_TIME = "NEW_ID_EACH_TIME"


class Passage(NamedTuple):
    """A client id that came (or went) in one rebalance; `at_once`: members of its host after it."""

    moment: datetime
    client_id: str
    came: bool
    at_once: int


class Flapping(NamedTuple):
    """Who flaps, an id or a host, with its comings and goings."""

    cause: FlappingCause
    subject: str
    comings: int
    goings: int


def flapping(passages: Iterable[Passage], times: int) -> list[Flapping]:
    """Who came at least so many times, and went so many times.

    An id counts by its rebalances. A host counts by the ids that came and went, as a Java client ≥ 4.9 has a new one
    every time; with several members at once it must be so many times each, so that restarting all of them in turn,
    as a deploy does, is no flapping.
    """
    tokens: dict[tuple[FlappingCause, str], dict[bool, set[object]]] = defaultdict(lambda: {True: set(), False: set()})
    at_once: dict[tuple[FlappingCause, str], int] = defaultdict(lambda: 1)
    for one in passages:
        tokens[FlappingCause.SAME_ID, one.client_id][one.came].add(one.moment)
        if (address := host(one.client_id)) is not None:
            key = (FlappingCause.NEW_ID_EACH_TIME, address)
            tokens[key][one.came].add(one.client_id)
            at_once[key] = max(at_once[key], one.at_once)
    counted = (Flapping(*key, len(both[True]), len(both[False])) for key, both in tokens.items())
    return sorted(one for one in counted if min(one.comings, one.goings) >= times * at_once[one.cause, one.subject])


def in_flight(consumer_offset: int | None, pull_offset: int | None, last_timestamp: int | None) -> int | None:
    """Messages that the owner pulled and did not commit: the bound on what the next owner consumes again.

    None, unknown: the group never committed (0 with a last timestamp of 0), or the broker knows no pull (0 or less,
    behind what is committed: it forgets them when it restarts). Both offsets move while they are read: never below 0.
    """
    if consumer_offset is None or pull_offset is None:
        return None
    if consumer_offset == 0 and not last_timestamp:
        return None
    if pull_offset <= 0 < consumer_offset:
        return None
    return max(pull_offset - consumer_offset, 0)
