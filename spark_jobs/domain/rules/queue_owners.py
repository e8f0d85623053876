"""The queues of an interval as findings name them; DOUBLE_OWNED_QUEUE and STRANDED_WRITE_QUEUES: those that several
connections consume, and those that none may read.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.sample_pairs import arrived
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Connection, OffsetSamples, Serving
from spark_jobs.domain.model.window import Time, common
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules import mixed_clients
from spark_jobs.domain.rules.commands import READ_AND_WRITE_QUEUES
from spark_jobs.domain.rules.links import topics
from spark_jobs.domain.rules.rule import Cause, Rule, counting

UNASSIGNED, DOUBLE_OWNED, DISPUTED = "UNASSIGNED", "DOUBLE_OWNED", "DISPUTED"
TWO_NAMES = "TWO_NAMES"


def unassigned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, str | None]]:
    """One per queue without owner, also unreadable ones: the queue, the cause, the client id of its share, or None."""
    allocation = interval.shares
    if allocation is None:
        return
    if not allocation.counts.unassigned_queues and allocation.readable_count == len(allocation.queues):
        return
    causes, client_ids = allocation.unassigned_causes, allocation.unassigned_client_ids
    for queue, cause, client_id in zip(allocation.queues, causes, client_ids, strict=True):
        if cause is not None:
            yield FindingQueue(interval.topic, *queue, UNASSIGNED), cause, client_id


def double_owned_queues(interval: RebalanceInterval) -> Iterator[tuple[FindingQueue, str, tuple[str, ...]]]:
    """One per queue that several connections own, except by POP: the queue, the cause, their distinct client ids."""
    allocation = interval.shares
    if allocation is None or not allocation.counts.double_owned_queues:
        return
    causes = allocation.double_owned_causes
    for queue, cause, owner_ids in zip(allocation.queues, causes, allocation.owner_ids, strict=True):
        if cause is not None and cause != DoubleOwnedCause.POP_SHARED:
            yield FindingQueue(interval.topic, *queue, DOUBLE_OWNED), cause, owner_ids


def owned_queues(interval: RebalanceInterval, client_id: str, role: str) -> list[FindingQueue]:
    """The queues that a client owns by replay, sorted, in the role that they play in a finding."""
    places = interval.allocation.queues_of_client.get(client_id, ()) if interval.allocation else ()
    return [FindingQueue(interval.topic, *place, role) for place in sorted(places)]


def connections_of(interval: RebalanceInterval, client_id: str) -> tuple[Connection, ...]:
    """The connections of a client id among the members of an interval, in allocation order."""
    members = (member for member in interval.members or () if member.client_id == client_id)
    return tuple(Connection(each.client_id, each.client_addr, each.language, each.version) for each in members)


def queue_hit(interval: RebalanceInterval, queue: FindingQueue, cause: str, implicated: str | None = None) -> RuleHit:
    """The hit of a queue for a whole interval; without the queue, if clients that did not follow own it otherwise."""
    return RuleHit(
        *(interval.start, interval.end, cause, interval.topic, None, interval.view, interval.seen_at),
        queue=queue if _is_shown(interval, queue) else None,
        implicated=implicated,
    )


def _is_shown(interval: RebalanceInterval, queue: FindingQueue) -> bool:
    if interval.by_strategy is None or interval.allocation is None:
        return True
    count = len(interval.allocation.owners[interval.places[queue.broker_name, queue.queue_id]])
    return count == 0 if queue.role == UNASSIGNED else count > 1


def queue_at(progress: IntervalProgress, place: int, role: str) -> FindingQueue:
    """The queue at a place of an interval's progress, in the role it plays in a finding."""
    return FindingQueue(progress.interval.topic, *progress.queues[place], role)


def _double_owned_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue, client id that owns it with others); one condition per group, topic and cause."""
    for interval in step.replayed:
        for queue, cause, owner_ids in double_owned_queues(interval):
            for client_id in owner_ids:
                yield queue_hit(interval, queue, cause, client_id)
    yield from _two_names_hits(step)


def _two_names_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time, queue of a broker that is in the route under several names, client id that owns it under one).

    A broker that is renamed while it runs registers under both names until its name servers restart, and keeps one
    offset of each of its queues (`RouteInfoManager.registerBroker`; RocketMQ issue #1989).
    """
    for span, interval, brokers in _under_several_names(step):
        names = {name for same in brokers.values() for name in same}
        texts = (f"The broker at {address} is in the route as {names_text(same)}." for address, same in brokers.items())
        hint, again = " ".join(texts), _produced(step.history.offsets.get(interval.topic), names, span)
        owned = zip(interval.shares.queues, interval.shares.owner_ids, strict=True) if interval.shares else ()
        for queue, owner_ids in ((queue, owner_ids) for queue, owner_ids in owned if queue[0] in names):
            for client_id in owner_ids:
                yield RuleHit(
                    *(*span, TWO_NAMES, interval.topic),
                    queue=FindingQueue(interval.topic, *queue, DOUBLE_OWNED),
                    implicated=client_id,
                    weight=again,
                    measures={"consumed_again": again},
                    hint=hint,
                )


def _under_several_names(step: AuditedStep) -> Iterator[tuple[Time, RebalanceInterval, Mapping[str, Sequence[str]]]]:
    """The times of replayed intervals in which the topic's route has brokers under several names, by address."""
    for topic, serving in step.history.serving.items():
        if not any(map(_names_by_address, serving.states)):  # as mostly
            continue
        intervals = [interval for interval in step.replayed if interval.topic == topic]
        for span in serving.spans(step.window, step.settings.max_gap):
            times = ((common((each.start, each.end), span.time), each) for each in intervals)
            if brokers := _names_by_address(span.state):
                yield from ((time, interval, brokers) for time, interval in times if time)


def _names_by_address(brokers: Serving | None) -> dict[str, list[str]]:
    """The names of the brokers that have several, by address."""
    by_address = by_key(sorted(brokers or ()), lambda broker: broker[1])
    return {address: [name for name, _ in same] for address, same in by_address.items() if len(same) > 1}


def _produced(samples: OffsetSamples | None, brokers: Collection[str], time: Time) -> int:
    """Messages that came to the queues of these brokers in the time, as far as samples show."""
    seen = samples.inside(*time) if samples else slice(0, 0)
    if samples is None or seen.start == seen.stop:
        return 0
    return int(arrived(samples, seen)[-1, [name in brokers for name, _ in samples.queues]].sum())


def _stranded_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue beyond the read queues); one condition per group and topic."""
    for interval in step.replayed:
        for queue, cause, _ in unassigned_queues(interval):
            if cause == UnassignedCause.BEYOND_READ_QUEUES:
                yield queue_hit(interval, queue, cause)


DOUBLE_OWNED_QUEUE = Rule(
    name="DOUBLE_OWNED_QUEUE",
    headline="Several consumers of {groups} own {queues}",
    ended="no queue had several owners any more",
    meaning="Several connections own a queue, and each of them consumes all of its messages.",
    decided_by="The replay gives the queue to several connections; not with POP. INFO for a duplicate client id of "
    "less than 150 s.",
    causes={
        DoubleOwnedCause.DUPLICATE_CLIENT_ID: Cause(
            "all owners share one id",
            "Each consumer with this client id consumes every message of these queues. Give every consumer its own "
            "client id.",
        ),
        DoubleOwnedCause.MIXED_STRATEGIES: Cause("members use different strategies", mixed_clients.ONE_STRATEGY),
        DoubleOwnedCause.MIXED_CLIENTS: Cause(
            "clients compute the strategy differently", mixed_clients.ONE_KIND_OF_CLIENT
        ),
        DoubleOwnedCause.CONFIG_OVERLAP: Cause(
            "the configured lists of several clients contain it",
            "Keep each of these queues in the configured list of one client only.",
        ),
        TWO_NAMES: Cause(
            "the route has one broker under several names, as after it was renamed while it ran",
            "Each message of this broker is consumed once under each of its names. Restart the name servers one after "
            "another: they keep the old name while its address answers (RocketMQ issue #1989). Never rename a broker "
            "that runs.",
            headline="{groups} consumes {queues} of one broker under several names",
            lasts="persistent_after_seconds",
        ),
    },
    evaluate=_double_owned_hits,
    detail=counting("{} twice", consumed_again="message"),
)
STRANDED_WRITE_QUEUES = Rule(
    name="STRANDED_WRITE_QUEUES",
    headline="Producers write to queues of {topics} that no consumer can read",
    meaning="Messages go to queues that no consumer can read. The topic has more write queues than read queues. "
    "`backlog_end`: how many messages they hold, if topic snapshots were recorded.",
    decided_by="`readQueueNums < writeQueueNums` in the route of a readable broker for 50 s. ERROR; INFO if these "
    "queues are empty and nothing was produced.",
    causes={
        UnassignedCause.BEYOND_READ_QUEUES: Cause(
            "always", "Raise readQueueNums to writeQueueNums.", commands=(READ_AND_WRITE_QUEUES,)
        )
    },
    evaluate=_stranded_hits,
    lasts="settled_seconds",
    spreads_by=topics,
)
