"""Everything that was recorded of one consumer group: what the kernel is given.

States come folded (`series.Series`), samples as matrices of snapshots × queues. Time is microseconds since 1970 (UTC)
unless a name says otherwise; an unknown number is `UNKNOWN`, never 0. Subscriptions are in a form that can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.model.message_queue import MessageQueue, RouteEntry
from spark_jobs.domain.model.series import NO_SIGHTINGS, Series, Sightings, Timed, coded, last_hour_before
from spark_jobs.domain.model.window import AuditSettings, StepWindow

#: What RocketMQ puts before a group's name to name its retry topic.
RETRY = "%RETRY%"
#: Prefix of the topic to which a group's messages go that it could not consume in all tries.
DEAD_LETTERS = "%DLQ%"
#: The expression that lets every message through.
EVERYTHING = "*"
#: `ConsumeType` of a group whose applications decide when members pull (DefaultLitePullConsumer).
PULLS_BY_HAND = "CONSUME_ACTIVELY"
#: One topic with its normal expression; a client's subscriptions are a set of them.
Subscriptions = frozenset[tuple[str, str]]


def normal_expression(expression_type: str | None, text: str | None) -> str:
    """The expression in the one form of all that mean the same: tags sorted, `*` for everything.

    Source: `FilterAPI.buildSubscriptionData` (no tag, an empty text and `*` are all messages; tags between `||`).
    """
    if expression_type not in (None, "TAG"):
        return f"{expression_type} {text or ''}"
    tags = sorted({tag.strip(" ") for tag in (text or "").split("||")} - {""})
    return " || ".join(tags) or EVERYTHING


#: Stands for null in a matrix of numbers.
UNKNOWN = np.iinfo(np.int64).min
#: The end of a queue and its committed offset are read one after the other. An offset that is further beyond the end,
#: in messages, is another one.
RACE_MESSAGES = 64
#: (broker name, queue id) of a topic.
Place = tuple[str, int]
Matrix = NDArray[np.int64]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: (broker name, address at which it is asked) of each broker of a route.
Serving = frozenset[tuple[str, str]]
#: (address of a name server, its route of a topic) of each one.
ServerRoutes = tuple[tuple[str, tuple[RouteEntry, ...]], ...]


class Connection(NamedTuple):
    """One connection of a group, as a broker lists it; several can share a `client_id`. None is unknown."""

    client_id: str
    client_addr: str | None = None
    language: str | None = None
    version: int | None = None


class RequestMode(NamedTuple):
    """How the clients that leave it to the broker get a topic's messages, PULL or POP; None is unknown."""

    topic: str
    mode: str | None
    pop_share_queue_num: int | None = None


class Membership(NamedTuple):
    """One broker's answer about the group.

    `connections`: sorted by all their fields, unknown first, duplicates kept; empty: no member is online. `topics`: all
    that the group subscribes; `subscriptions`: those without retry topics, in their normal form. `request_modes`: those
    that the broker was given for the group, sorted; None: not recorded. `listed` False: the group is deleted, no broker
    lists it any more; None: not recorded.
    `consume_from_where`: where a queue without an offset begins.
    """

    connections: tuple[Connection, ...]
    topics: frozenset[str]
    subscriptions: Subscriptions
    message_model: str | None
    consume_type: str | None = None
    request_modes: tuple[RequestMode, ...] | None = None
    listed: bool | None = None
    consume_from_where: str | None = None

    @property
    def client_ids(self) -> tuple[str, ...]:
        """The client id of each connection."""
        return tuple(connection.client_id for connection in self.connections)


class OwnedQueue(NamedTuple):
    """A process queue that a client says it has; None is unknown."""

    topic: str
    broker_name: str
    queue_id: int
    locked: bool | None
    dropped: bool | None


class ClientState(NamedTuple):
    """One client's report of itself; None is unknown, as is everything where it did not answer.

    Batch sizes are messages of one call of the listener, or of one pull. It pauses pulling a queue of which it holds
    more messages, MiB or (unless it consumes in order) offsets from the first to the last than the thresholds and
    `consume_max_span` say (`DefaultMQPushConsumerImpl.pullMessage`). Unless it consumes in order, it sends back what
    takes longer than `consume_timeout_minutes` (`ProcessQueue.cleanExpiredMsg`). `topics`: all that it subscribes;
    `subscriptions`: those without retry topics, in their normal form; `owned`: its process queues in the order of the
    columns of `ClientSamples`. `in_group` False: it answered that it has no consumer of the group. `lock_refused`: the
    queues of which brokers are known to refuse it the lock.
    """

    answered: bool
    strategy_class: str | None = None
    message_model: str | None = None
    consume_orderly: bool | None = None
    client_rebalance: bool | None = None
    consume_threads: int | None = None
    consume_batch_size: int | None = None
    pull_batch_size: int | None = None
    pull_interval_ms: int | None = None
    pull_threshold_for_queue: int | None = None
    pull_threshold_size_for_queue: int | None = None
    consume_max_span: int | None = None
    consume_timeout_minutes: int | None = None
    topics: frozenset[str] | None = None
    subscriptions: Subscriptions | None = None
    owned: tuple[OwnedQueue, ...] | None = None
    in_group: bool | None = None
    lock_refused: tuple[MessageQueue, ...] = ()


class ConsumeStatus(NamedTuple):
    """A client's own measure of one topic over its last minute: milliseconds, messages per second; None: unknown."""

    topic: str
    consume_rt_ms: float | None = None
    consume_ok_tps: float | None = None
    consume_failed_tps: float | None = None
    pull_rt_ms: float | None = None
    pull_tps: float | None = None


@dataclass(frozen=True)
class ClientSamples:
    """Values of one client that change with every snapshot, alongside its folded state.

    `offsets`: where the queues of each snapshot begin in the flat arrays (one more than there are snapshots). Per
    queue, in the order of the state's `owned`: messages, MiB, offsets, and `last_pull`, `last_consume` and
    `last_lock`, milliseconds by the client's clock (0: never).
    `statuses`: per snapshot what it measured of each topic, None: it did not say. `started_at`: the same of the start
    of its process, microseconds by its clock; empty: not read.
    """

    offsets: Numbers
    cached_count: Numbers
    cached_mib: Numbers
    cached_min_offset: Numbers
    cached_max_offset: Numbers
    last_pull: Numbers
    last_consume: Numbers
    last_lock: Numbers
    statuses: Sequence[tuple[ConsumeStatus, ...] | None]
    started_at: Sequence[int] = ()

    @cached_property
    def snapshots(self) -> Numbers:
        """The number of the snapshot of each process queue."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


@dataclass(frozen=True)
class ClientHistory:
    """All snapshots of one client: `series` says which state each showed, `samples` what was measured in it."""

    series: Series[ClientState]
    samples: ClientSamples

    @cached_property
    def consumes_orderly(self) -> bool:
        """Return whether any snapshot says so."""
        return any(state.consume_orderly for state in self.series.states)

    @cached_property
    def answers(self) -> Series[ClientState]:
        """The client snapshots that describe its consumer, with the inputs of an allocation that only it knows."""
        answering_states = [state.answered and state.in_group is not False for state in self.series.states]
        is_answer = np.array(answering_states, dtype=bool)[self.series.codes]
        codes, states = coded(map(_allocation_inputs, self.series.states))
        return Series(self.series.times[is_answer], codes[self.series.codes][is_answer], states)


def _allocation_inputs(state: ClientState) -> ClientState:
    """The state's inputs of allocations; orderly clients rebalance themselves (`RebalancePushImpl.clientRebalance`)."""
    return ClientState(
        state.answered,
        strategy_class=state.strategy_class,
        message_model=state.message_model,
        client_rebalance=state.client_rebalance is not False or state.consume_orderly is True,
        topics=state.topics,
        subscriptions=state.subscriptions,
    )


@dataclass(frozen=True)
class QueueSamples(Timed):
    """The snapshots of one topic's queues: its matrices are `times` × `queues`."""

    queues: Sequence[Place]

    @cached_property
    def columns(self) -> Mapping[Place, int]:
        """Column of each queue."""
        return {place: column for column, place in enumerate(self.queues)}

    def showing(self, shown: Mask) -> Timed:
        """The snapshots that show it of any queue; `shown`: a matrix."""
        return Timed(self.times[shown.any(axis=1)])


@dataclass(frozen=True)
class OffsetSamples(QueueSamples):
    """The group's offset snapshots of one topic: next offset to write, to consume, to pull, and the store time (ms) of
    the last consumed message; `UNKNOWN` for null, and for queues that the snapshot lacks (not `present`).
    """

    end_offset: Matrix
    consumer_offset: Matrix
    pull_offset: Matrix
    last_timestamp: Matrix
    present: Mask

    @cached_property
    def consumed_to(self) -> Matrix:
        """Next offset to consume; `UNKNOWN` where the group never committed: 0 with a last timestamp of 0, or none.
        Where nothing ever came (a broker offset of 0), there is nothing to commit, and 0 is the next offset. So it is
        where the end is unknown: logs have only offsets that were committed.
        """
        is_zero = self.consumer_offset == 0
        if not is_zero.any():  # as mostly
            return self.consumer_offset
        never = is_zero & ((self.last_timestamp == 0) | (self.last_timestamp == UNKNOWN))
        return np.where(never & (self.end_offset > 0), UNKNOWN, self.consumer_offset)

    @cached_property
    def pulled(self) -> "OffsetSamples":
        """The same with the pull offsets, where brokers report them, as if they were committed."""
        return replace(self, consumer_offset=np.maximum(self.consumer_offset, self.pull_offset))

    @cached_property
    def forward(self) -> Matrix:
        """Messages by which the next offset to consume rose since the snapshot before; 0: it did not, or unknown."""
        return _risen(self.consumed_to)

    @cached_property
    def lag(self) -> Matrix:
        """Messages not consumed yet, at least 0; `UNKNOWN` like its offsets, and far beyond the end."""
        known, left = self._left
        return np.where(known & (left >= -RACE_MESSAGES), np.maximum(left, 0), UNKNOWN)

    @cached_property
    def beyond_end(self) -> Matrix:
        """Messages by which the committed offset is beyond the end of its queue; 0: it is not, or that is unknown."""
        return np.maximum(-self._left[1], 0)

    @cached_property
    def _left(self) -> tuple[Mask, Matrix]:
        """Per sample and queue, True if both offsets are known, and then by how much the end is greater, else 0. So it
        is where the committed one is beyond it by no more than came, and was consumed, since the snapshot before: the
        end was read before the commit.
        """
        known = (self.end_offset != UNKNOWN) & (self.consumed_to != UNKNOWN)
        left = np.where(known, self.end_offset - self.consumed_to, 0)
        if (left < -RACE_MESSAGES).any():
            is_race = (left < 0) & (-left <= np.minimum(self.forward, _risen(self.end_offset)))
            left = np.where(is_race, 0, left)
        return known, left


def _risen(offsets: Matrix) -> Matrix:
    """By how much each offset is above that of the snapshot before; 0: it is not, or one is unknown."""
    after, before = offsets[1:], offsets[:-1]
    is_above = (after != UNKNOWN) & (before != UNKNOWN) & (after > before)
    risen = np.zeros_like(offsets)
    risen[1:] = np.where(is_above, after - before, 0)
    return risen


@dataclass(frozen=True)
class TopicSamples(QueueSamples):
    """The snapshots of one topic's own offsets, also of unreadable queues: the oldest one, and the next to write."""

    min_offset: Matrix
    max_offset: Matrix
    present: Mask

    @cached_property
    def without_commits(self) -> OffsetSamples:
        """The same as offsets of a group, of which none is known."""
        unknown = np.full_like(self.max_offset, UNKNOWN)
        return OffsetSamples(self.times, self.queues, self.max_offset, unknown, unknown, unknown, self.present)

    def known_minimums(self, queue: Place, start: int, end: int) -> Matrix:
        """The oldest offsets of a queue in the snapshots of `[start, end)` (microseconds) that show it, in order."""
        return self._known(self.min_offset, queue, start, end)

    def known_maximums(self, queue: Place, start: int, end: int) -> Matrix:
        """The same of the next offsets to write."""
        return self._known(self.max_offset, queue, start, end)

    def _known(self, offsets: Matrix, queue: Place, start: int, end: int) -> Matrix:
        if queue not in self.columns:
            return offsets[:0, 0]
        of_queue: Matrix = offsets[self.inside(start, end), self.columns[queue]]
        return np.extract(of_queue != UNKNOWN, of_queue)


@dataclass(frozen=True)
class GroupHistory:
    """The snapshots of one (cluster, consumer group): memberships by broker, clients by their id; routes, offsets and
    topics by topic, of all topics that the group subscribes to or has offsets of. A route is sorted by broker name;
    `serving`: who served it, None where that was not recorded; `masterless`: its brokers that only slaves serve;
    `server_routes`: of topics of which each name server was asked; `topics_listed`, of topics that were deleted:
    whether brokers have them, None where that is not known.
    `unanswered`: by broker, the errors of the calls for the group's members that it did not answer.
    `proxies`: memberships of the cluster's `unseen.PROXIES_GROUP`, by broker. `captured`: when any broker answered
    about the group as one that is there; `deleted`: when it was seen that it is deleted; `readable`: by topic, then by
    broker and number of queues, when the topic's route named so many queues of the broker as readable; by None, when it
    named no broker. `rejected`: by source, when snapshots were taken that broke a rule of it and are not used.
    """

    cluster: str
    consumer_group: str
    memberships: Mapping[str, Series[Membership]] = field(default_factory=dict)
    routes: Mapping[str, Series[tuple[RouteEntry, ...]]] = field(default_factory=dict)
    serving: Mapping[str, Series[Serving | None]] = field(default_factory=dict)
    masterless: Mapping[str, Series[frozenset[str]]] = field(default_factory=dict)
    server_routes: Mapping[str, Series[ServerRoutes]] = field(default_factory=dict)
    topics_listed: Mapping[str, Series[bool | None]] = field(default_factory=dict)
    clients: Mapping[str, ClientHistory] = field(default_factory=dict)
    offsets: Mapping[str, OffsetSamples] = field(default_factory=dict)
    topics: Mapping[str, TopicSamples] = field(default_factory=dict)
    proxies: Mapping[str, Series[Membership]] = field(default_factory=dict)
    unanswered: Mapping[str, Series[str]] = field(default_factory=dict)
    captured: Sightings = NO_SIGHTINGS
    deleted: Sightings = NO_SIGHTINGS
    readable: Mapping[str, Mapping[Place | None, Sightings]] = field(default_factory=dict)
    rejected: Mapping[str, Numbers] = field(default_factory=dict)

    def readable_before(self, topic: str, window: StepWindow, settings: AuditSettings) -> dict[Place | None, int]:
        """By broker and number of queues that the topic's route named as readable before the window: the start of the
        last hour in which it did, microseconds; by None, in which the topic was deleted. An hour in which other topics
        of the group had no route either shows that the name server restarted.
        """
        seen = self.readable.get(topic, {}).items()
        hours = {
            queues: hour for queues, times in seen if (hour := last_hour_before(times, window, settings)) is not None
        }
        other_topics = (of[None] for name, of in self.readable.items() if name != topic and None in of)
        if None in hours and hours[None] in (last_hour_before(times, window, settings) for times in other_topics):
            del hours[None]
        return hours

    def oldest_offsets(self, topic: str, queue: Place, start: int, end: int) -> Sequence[int]:
        """The oldest offsets of a queue by the topic's snapshots in `[start, end)` (microseconds) that show it."""
        samples = self.topics.get(topic)
        return samples.known_minimums(queue, start, end).tolist() if samples else ()

    def was_there_before(self, window: StepWindow, settings: AuditSettings) -> bool:
        """Return whether the group was captured before the window, and not deleted in that hour or since."""
        captured, deleted = (last_hour_before(seen, window, settings) for seen in (self.captured, self.deleted))
        return captured is not None and (deleted is None or deleted < captured)
