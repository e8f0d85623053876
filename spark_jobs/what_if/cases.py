"""Changes to a history before it is played again."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.ownership import DUPLICATE_SUFFIX, Inputs, Replays, implementations, with_own_ids
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.domain.rocketmq.allocation import room_of, unresolvable_room
from spark_jobs.domain.rocketmq.strategies import AVG, NEW, UNKNOWN_STRATEGY, StrategySettings
from spark_jobs.domain.status.throughput import AS_SET, Changes
from spark_jobs.errors import CaseError, StrategyError
from spark_jobs.what_if.recorded import Assignment, Recorded

#: Stands for all members whose client id is not named.
EVERYBODY = ""


@dataclass(frozen=True)
class Change:
    """So many more or fewer, so many times as many, or exactly so many: `sign` is +, -, x or =."""

    sign: str
    number: int

    def of(self, count: int) -> int:
        """The changed count, 0 at least."""
        changed = {"+": count + self.number, "-": count - self.number, "x": count * self.number, "=": self.number}
        return max(changed[self.sign], 0)


class Autoscaler(NamedTuple):
    """Kubernetes' rule for a lag for each member (`AverageValue`), as KEDA sets it; times in microseconds.

    Every `every` it wants lag ÷ `lag` members, rounded up, from `least` to `most` of them, and no more than the topic
    with most queues has. More are there after `start`; fewer only when no more were wanted for `down_after`.
    Source: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details.
    """

    lag: int
    most: int
    least: int
    every: int
    down_after: int
    start: int


@dataclass(frozen=True)
class Case:
    """Changes of a what-if case to a group's history; None or empty changes nothing. `label`: how it was asked for.

    `members`: number of connections; the last in allocation order leave first. `queues`: readable ones of each topic.
    `room`: that of members that are added. `strategy`: of all members, by its name; its settings are those of the group
    but for `virtual_node_cnt`. `speed`: messages a second, by client id. `without`: client ids that are left out.
    `changes`: settings that members would have instead, by client id, `EVERYBODY` for all others. `load`: factor of
    the produced messages. `scaler`: the autoscaler that sets the number of members, instead of `members`.
    """

    label: str = "as it was"
    members: Change | None = None
    room: str | None = None
    strategy: str | None = None
    virtual_node_cnt: int | None = None
    unique_ids: bool = False
    same_subscriptions: bool = False
    queues: Change | None = None
    without: frozenset[str] = frozenset()
    speed: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, Changes] = field(default_factory=dict)
    load: float = 1.0
    scaler: Autoscaler | None = None

    def settings(self, configured: StrategySettings) -> StrategySettings:
        """The strategy's settings in this case; raises `CaseError` for a room where members have none."""
        if self.room is not None and configured.client_room is None:
            raise CaseError(f"the case '{self.label}': no client_room is configured for the group: leave out --room")
        nodes = configured.virtual_node_cnt if self.virtual_node_cnt is None else self.virtual_node_cnt
        return replace(configured, virtual_node_cnt=nodes, new_room=self.room or configured.new_room)

    def changes_of(self, client_id: str) -> Changes:
        """The settings that a member would have instead: its own, and of what these leave open, everybody's."""
        own = next((self.changes[name] for name in (client_id, recorded_id(client_id)) if name in self.changes), AS_SET)
        return own.over(self.changes.get(EVERYBODY, AS_SET))

    def inputs(self, interval: RebalanceInterval) -> Inputs:
        """The inputs of the allocation of this interval in this case."""
        queues = tuple(self.queues_of(interval.queues or ()))
        return Inputs(interval.topic, self._members(interval.members or ()), queues, _unreadable(interval, queues))

    def queues_of(self, queues: Sequence[Place]) -> list[Place]:
        """The readable queues, `0 … n-1` of each broker, in allocation order."""
        if self.queues is None or not queues:
            return list(queues)
        brokers = sorted({broker for broker, _ in queues}, key=java_order)
        if self.queues.sign == "x":
            queues_of_broker = Counter(broker for broker, _ in queues)
            counts = [self.queues.of(queues_of_broker[broker]) for broker in brokers]
        else:
            each, more = divmod(self.queues.of(len(queues)), len(brokers))
            counts = [each + (place < more) for place in range(len(brokers))]
        return [(broker, queue_id) for broker, count in zip(brokers, counts, strict=True) for queue_id in range(count)]

    def _members(self, members: Sequence[Member]) -> tuple[Member, ...]:
        changed: tuple[Member, ...] = tuple(member for member in members if member.client_id not in self.without)
        if self.unique_ids:
            changed = with_own_ids(changed)
        if self.members is not None:
            changed = _resized(changed, self.members.of(len(changed)))
        if self.same_subscriptions:
            changed = tuple(member._replace(subscribes=not member.broadcasts) for member in changed)
        return tuple(member.under(self.strategy) for member in changed) if self.strategy else changed


UNCHANGED_CASE = Case()


def recorded_id(client_id: str) -> str:
    """The id that a connection had before it got one of its own."""
    return client_id.partition(DUPLICATE_SUFFIX)[0]


def assignments_in(case: Case, recorded: Recorded, replays: Replays) -> dict[str, list[Assignment]]:
    """By topic, in order of time. Raises `StrategyError` where the settings of the case's strategy are missing."""
    return {topic: [assignment_of(case, span, replays) for span in spans] for topic, spans in recorded.replayed.items()}


def assignment_of(case: Case, span: Assignment, replays: Replays) -> Assignment:
    """The span as it would have been. Raises `StrategyError` as `assignments_in`, and where a member or a broker is in
    no room: then every client keeps what it had. So it does where other members or queues would meet a strategy that
    is not known.
    """
    inputs = case.inputs(span.interval)
    client_ids = [member.client_id for member in inputs.members]
    is_as_recorded = client_ids == [*span.client_ids] and inputs.queues == span.interval.queues
    for implementation in implementations(inputs.members):
        if implementation.parameters.holders is not None and not is_as_recorded:
            raise StrategyError(f"{case.label}: the strategy of the members is not known: name or configure one")
        strategy = replays.settings.named(*implementation)
        if why := unresolvable_room(strategy, inputs.topic, inputs.queues, client_ids):
            raise StrategyError(f"{case.label}: {strategy.name} cannot be played: {why}")
    return span._replace(allocation=replays.allocation(inputs), client_ids=client_ids)


def with_new_room(configured: StrategySettings, steps: Sequence[AuditedStep]) -> StrategySettings:
    """With the room of members that were not there, as RocketMQ finds the room in a client id: where they help most,
    that of the member with most queues of a topic when any were last owned, the first of equals; none where none ever
    were. The same settings where no rooms are configured.
    """
    if configured.client_room is None:
        return configured
    shares = [
        (interval.end, len(queues), client_id)
        for step in steps
        for interval in step.intervals
        if interval.is_ordinary and interval.allocation is not None
        for client_id, queues in interval.allocation.queues_of_client.items()
    ]
    _, _, busiest = max(shares, key=lambda share: share[:2], default=(0, 0, ""))
    return replace(configured, new_room=room_of(configured.client_room, busiest) or "")


def _resized(members: Sequence[Member], count: int) -> tuple[Member, ...]:
    strategies = [member.strategy for member in members if member.strategy != UNKNOWN_STRATEGY]
    strategy = max(strategies, key=strategies.count) if strategies else AVG
    like = next((member for member in members if member.strategy == strategy), None)
    software = (like.language, like.version) if like else (None, None)
    new = (
        Member(f"{NEW}{number:04d}", None, *software, strategy, True, False).under(strategy)
        for number in range(len(members), count)
    )
    return (*members[:count], *new)


def _unreadable(interval: RebalanceInterval, queues: Iterable[Place]) -> tuple[tuple[str, int, UnassignedCause], ...]:
    """Queues that can hold messages and that no client may read."""
    allocation, readable = interval.allocation, set(queues)
    if allocation is None:
        return ()
    causes = zip(allocation.queues, allocation.unassigned_causes, strict=True)
    beyond = UnassignedCause.BEYOND_READ_QUEUES
    return tuple(
        (*queue, UnassignedCause(cause) if cause and place >= allocation.readable_count else beyond)
        for place, (queue, cause) in enumerate(causes)
        if queue not in readable
    )
