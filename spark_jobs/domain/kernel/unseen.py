"""When a group that no broker lists is consumed all the same: by clients of a proxy, or by somebody unseen.

Clients of a cluster-mode proxy register with the proxy: every broker answers "not online" for their group. So that
answer alone does not mean that nobody consumes; it does where offsets stand while messages come in. Clients that did
not answer when they were asked tell a member that expired from one that left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.moves import has_expired
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Matrix, Membership, OffsetReadings
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.window import SECOND, AuditSettings, StepWindow, Time, common, offline_times, without

#: The group in which the proxies of a cluster tell each other of their clients: its connections are the proxies.
#: Source: org.apache.rocketmq.proxy.service.sysmessage.AbstractSystemMessageSyncer, HeartbeatSyncer.
PROXIES_GROUP = "CID_DefaultHeartBeatSyncerTopic"
#: Who answers for a proxy stands in memberships, in the place of a broker's name, as `proxy host:port`.
PROXY = "proxy "


State = TypeVar("State")
Times = NDArray[np.int64]
Flags = NDArray[np.bool_]


class UnseenReason(StrEnum):
    """By whom a group without connections is consumed."""

    CONSUMED_THROUGH_PROXY = "CONSUMED_THROUGH_PROXY"
    CONSUMED_BY_UNSEEN = "CONSUMED_BY_UNSEEN"


def unseen_times(
    memberships: Mapping[str, Sequence[Span[Membership]]],
    proxies: Mapping[str, Sequence[Span[Membership]]],
    offsets: Mapping[str, OffsetReadings],
    window: StepWindow,
    settings: AuditSettings,
) -> list[Span[UnseenReason]]:
    """The times in which no broker lists a connection and somebody consumes, in order; `proxies`: of `PROXIES_GROUP`.

    Somebody does where a proxy lists a connection of the group, and where committed offsets advance, more than once
    (once: an operator may have set them), until none does for `stalled_after_seconds` while messages come in. Where the
    cluster has a proxy and the group was not seen to connect to brokers, only such a stand tells that nobody does:
    never committed is unknown, and a group without messages has nothing to commit.
    """
    connected, behind = _connected(by_brokers(memberships)), _connected(by_proxies(memberships))
    through = _connected(proxies)
    # A proxy that was first asked after the group has been there since before.
    through = [(window.observed_from if place == 0 else start, end) for place, (start, end) in enumerate(through)]
    answers = ((span.start, span.end) for spans in memberships.values() for span in spans)
    found = []
    known = [Span(*time, time[1], UnseenReason.CONSUMED_THROUGH_PROXY) for time in offline_times(behind, connected)]
    for nobody in offline_times(answers, [*connected, *behind]):
        pairs = _pairs(offsets.values(), *nobody)
        for time in without(nobody, pairs.stands(settings.thresholds.stalled_after_seconds * SECOND, nobody[1])):
            seen = [shared for one in through if (shared := common(time, one))]
            if pairs.keep_advancing(time, settings.cadence):
                reason = UnseenReason.CONSUMED_THROUGH_PROXY if seen else UnseenReason.CONSUMED_BY_UNSEEN
                found.append(Span(*time, time[1], reason))
            elif not connected:
                found += [Span(*one, one[1], UnseenReason.CONSUMED_THROUGH_PROXY) for one in seen]
    return sorted([*known, *found], key=lambda span: span.start)


def by_brokers(memberships: Mapping[str, State]) -> dict[str, State]:
    """What brokers answered."""
    return {name: state for name, state in memberships.items() if not name.startswith(PROXY)}


def by_proxies(memberships: Mapping[str, State]) -> dict[str, State]:
    """What proxies answered."""
    return {name: state for name, state in memberships.items() if name.startswith(PROXY)}


def _connected(memberships: Mapping[str, Sequence[Span[Membership]]]) -> list[Time]:
    """The maximal times in which a broker lists a connection."""
    spans = (span for of_broker in memberships.values() for span in of_broker)
    return offline_times(((span.start, span.end) for span in spans if span.state.connections), ())


@dataclass(frozen=True)
class _Pairs:
    """Successive readings of all topics, by the time of the later one: whether a committed offset went forward in
    between, and whether messages came into a queue of which one is known.
    """

    starts: Times
    ends: Times
    advanced: Flags
    came_in: Flags

    def keep_advancing(self, time: Time, cadence: int) -> bool:
        """Whether offsets went forward in more than one round of the recorder inside it: half a cadence apart."""
        at = self.ends[self.advanced & (self.starts >= time[0]) & (self.ends <= time[1])]
        return len(at) > 1 and int(at[-1] - at[0]) >= cadence / 2

    def stands(self, at_least: int, until: int) -> list[Time]:
        """The times without an advance, from before the first messages that came in meanwhile to the last reading
        (behind the last advance: to `until`), if readings show them for so long.
        """
        advances = np.append(UNKNOWN, self.ends[self.advanced])
        stretch = np.cumsum(self.advanced)[~self.advanced]
        starts, ends, came_in = (column[~self.advanced] for column in (self.starts, self.ends, self.came_in))
        stretches, first = np.unique(stretch[came_in], return_index=True)
        since = np.maximum(starts[came_in][first], advances[stretches])
        last = ends[np.searchsorted(stretch, stretches, side="right") - 1]
        long = last - since >= at_least
        behind = np.where(stretches == len(advances) - 1, until, last)
        return list(zip(since[long].tolist(), behind[long].tolist(), strict=True))


def _pairs(topics: Iterable[OffsetReadings], start: int, end: int) -> _Pairs:
    """Of the readings in `[start, end)`."""
    parts = [_of_topic(readings, readings.inside(start, end)) for readings in topics]
    nothing = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0, np.bool_))
    starts, ends, advanced, came_in = (np.concatenate(column) for column in zip(nothing, *parts, strict=True))
    # Of equal times what stands comes first: the order of the topics must not matter.
    order = np.lexsort((starts, advanced, ends))
    return _Pairs(starts[order], ends[order], advanced[order].astype(bool), came_in[order].astype(bool))


def _of_topic(readings: OffsetReadings, seen: slice) -> tuple[Times, Times, Flags, Flags]:
    times = readings.times[seen]
    is_known = (readings.consumed_to[seen] != UNKNOWN)[1:]
    came_in = _grown(readings.end_offset[seen]) & is_known
    return times[:-1], times[1:], _any(_grown(readings.consumer_offset[seen])), _any(came_in)


def _grown(numbers: Matrix) -> Flags:
    """Per pair of rows and column; unknown is not grown."""
    return np.asarray((numbers[:-1] != UNKNOWN) & (numbers[1:] > numbers[:-1]))


def _any(flags: Flags) -> Flags:
    """Whether any column says so, row by row."""
    return np.asarray(flags.any(axis=1))


class Unanswered(NamedTuple):
    """A time in which a client did not answer, in microseconds; `next_answer` None: it did not any more."""

    last_answer: int
    first_unanswered: int
    next_answer: int | None


def unanswered(client: ClientHistory, window: StepWindow) -> Iterator[Unanswered]:
    """The times inside a step's window in which a client that had answered before did not."""
    seen = client.series.inside(window.read_from, window.end)
    answered = np.array([state.answered for state in client.series.states], dtype=bool)[client.series.codes[seen]]
    if answered.all():
        return
    times = client.series.times[seen]
    begins = np.flatnonzero(answered[:-1] & ~answered[1:]) + 1
    answers = np.flatnonzero(answered)
    for place in begins:
        after = np.searchsorted(answers, place)
        following = int(times[answers[after]]) if after < len(answers) else None
        yield Unanswered(int(times[place - 1]), int(times[place]), following)


def expired_at(
    clients: Mapping[str, ClientHistory], window: StepWindow, cadence: int, moment: int, client_ids: Collection[str]
) -> frozenset[str]:
    """Those of the client ids that had not answered for as long as an expired connection, if they are gone then."""
    return frozenset(
        client_id
        for client_id in client_ids
        if client_id in clients
        and any(has_expired(moment, *one, cadence) for one in unanswered(clients[client_id], window))
    )
