"""UNASSIGNED_QUEUE: a queue has no owner, so messages in it are not consumed."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import replace

from spark_jobs.domain.diagnosis.absences import absences, is_between_runs, is_brief, is_not_yet_there, is_unused
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.finding import Condition, FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Place
from spark_jobs.domain.model.message_queue import PERM_READ
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import common
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rocketmq.strategies import StrategySource
from spark_jobs.domain.rules import group_offline, mixed_clients
from spark_jobs.domain.rules.commands import READ_PERMISSION
from spark_jobs.domain.rules.membership_view_split import Split, split_views
from spark_jobs.domain.rules.queue_owners import DISPUTED, UNASSIGNED, queue_hit, unassigned_queues
from spark_jobs.domain.rules.rule import Cause, Rule, counting, severity_by_harm

#: Which queues these causes leave without an owner depends on the strategy.
_BY_STRATEGY = (
    UnassignedCause.DUPLICATE_CLIENT_ID,
    UnassignedCause.MEMBER_BROADCASTS,
    UnassignedCause.MEMBER_NOT_SUBSCRIBED,
)
_IF_AVG = (
    "These are the queues if the strategy is AVG: neither clients nor the configuration name it, and no client reports "
    "its queues."
)
#: The strategy leaves these queues out, and may be meant to.
_MAY_BE_BY_DESIGN = (UnassignedCause.ROOM_FILTER, UnassignedCause.NOT_LISTED)
#: Not a cause of an allocation: each view's own allocation has an owner.
VIEWS_DISAGREE = "VIEWS_DISAGREE"
#: Of a queue that waits for its lock, whose last owner is still a member.
LOCK_NOT_RELEASED = "LOCK_NOT_RELEASED"
_WAITS = (UnassignedCause.WAITS_FOR_LOCK, LOCK_NOT_RELEASED)


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue without owner), and per (split of the views, queue that may have none); one condition
    per group, topic and cause. Queues beyond the read queues are STRANDED_WRITE_QUEUES; a group that is not there yet
    lacks no owner.
    """
    yield from _with_changes(step, list(_of_intervals(step)))
    yield from _never_read(step)
    for split in split_views(step):
        yield from _disputed_hits(split)


def _of_intervals(step: AuditedStep) -> Iterator[RuleHit]:
    for place, interval in enumerate(step.replayed):
        for hit in _unassigned_hits(interval, step.settings.thresholds, step.replayed[:place]):
            is_offline = hit.cause == UnassignedCause.GROUP_OFFLINE
            until = interval.end if is_offline else step.window.end
            if is_offline and is_not_yet_there(step, until):
                continue
            is_usual = is_unused(step, until) or (is_offline and (is_between_runs(step) or _is_brief(step, interval)))
            yield replace(hit, severity=WARN) if is_usual else hit


def _is_brief(step: AuditedStep, interval: RebalanceInterval) -> bool:
    """Return whether the absence in which the interval lies is."""
    times = [time for time in absences(step) if common(time, (interval.start, interval.end))]
    return any(is_brief(step, *time) for time in times)


def _unassigned_hits(
    interval: RebalanceInterval, thresholds: Thresholds, before: Sequence[RebalanceInterval]
) -> Iterator[RuleHit]:
    for queue, cause, client_id in unassigned_queues(interval):
        hit = queue_hit(interval, queue, cause, client_id)
        if interval.strategy_source == StrategySource.DEFAULT and cause in _BY_STRATEGY:
            hit = replace(hit, is_assumed=True, hint=_IF_AVG)
        if cause == UnassignedCause.ROOM_FILTER and not interval.is_ordinary:
            hit = replace(hit, severity=INFO)
        if cause == UnassignedCause.WAITS_FOR_LOCK and (owners := _last_owners(queue, before)):
            is_kept = client_id not in owners and owners <= {*interval.client_ids}
            hint = f"The last owner was {' and '.join(sorted(owners))}."
            hit = replace(hit, cause=LOCK_NOT_RELEASED) if is_kept else replace(hit, hint=hint)
        if cause == UnassignedCause.GROUP_OFFLINE:
            yield replace(hit, minimum_seen_seconds=thresholds.settled_seconds)
        elif cause != UnassignedCause.BEYOND_READ_QUEUES:
            yield hit


def _never_read(step: AuditedStep) -> Iterator[RuleHit]:
    """The hits of a topic that no member may read, in queues of which the group never committed an offset: members keep
    the queues that they had, and had none of these.
    """
    for interval in step.intervals:
        samples = step.history.offsets.get(interval.topic)
        if interval.reason is not Reason.NO_READABLE_QUEUE or samples is None:
            continue
        routes = (span.state for span in step.routes[interval.topic] if span.start <= interval.start < span.end)
        forbidden = {entry.broker_name for route in routes for entry in route if not entry.perm & PERM_READ}
        seen = samples.inside(interval.start, interval.end)
        never = (samples.consumed_to[seen] == UNKNOWN).all(axis=0) & (samples.end_offset[seen] > 0).any(axis=0)
        unread = [queue for queue, is_never in zip(samples.queues, never, strict=True) if is_never]
        for queue in (queue for queue in unread if queue in interval.unreadable and queue[0] in forbidden):
            unassigned = FindingQueue(interval.topic, *queue, UNASSIGNED)
            hit = queue_hit(interval, unassigned, UnassignedCause.BROKER_NOT_READABLE)
            yield replace(hit, hint=_messages_in(step, interval, unread))


def _messages_in(step: AuditedStep, interval: RebalanceInterval, queues: Collection[Place]) -> str | None:
    """A sentence on the messages that the queues held at the end of the interval."""
    samples = step.history.topics.get(interval.topic)
    rows = samples.inside(interval.start, interval.end) if samples else slice(0)
    if samples is None or rows.start == rows.stop or not samples.columns.keys() >= set(queues):
        return None
    columns = [samples.columns[queue] for queue in queues]
    oldest, following = samples.min_offset[rows][-1, columns], samples.max_offset[rows][-1, columns]
    is_known = UNKNOWN not in (*oldest, *following)
    return f"The queues hold {count(int((following - oldest).sum()), 'message')}." if is_known else None


def _with_changes(step: AuditedStep, hits: Sequence[RuleHit]) -> Iterator[RuleHit]:
    """The hits; where members keep locks of queues that they lose, the wait of each queue of the topic is one of these,
    with the number of times that members changed in the step.
    """
    kept = {hit.topic for hit in hits if hit.cause == LOCK_NOT_RELEASED}
    by_members = [each for each in step.rebalances if each.moves.joined or each.moves.left]
    for hit in hits:
        if hit.topic in kept and hit.cause in _WAITS:
            topic_moments = {each.moment for each in by_members if each.interval.topic == hit.topic}
            measures = {"changes": float(sum(moment >= step.window.start for moment in topic_moments))}
            yield replace(hit, cause=LOCK_NOT_RELEASED, hint=None, measures=measures)
        else:
            yield hit


def _last_owners(queue: FindingQueue, before: Sequence[RebalanceInterval]) -> Set[str]:
    of_topic = (each for each in reversed(before) if each.topic == queue.topic)
    return {*next(filter(None, (each.owners_of(queue[1:3]) for each in of_topic)), ())}


def _disputed_hits(split: Split) -> Iterator[RuleHit]:
    """The hits of queues that may have no owner, as the brokers' lists of members give them to different clients."""
    owners_by_view: dict[Place, list[Collection[str]]] = defaultdict(list)
    for interval in split.views:
        if interval.allocation:
            for queue, ids in zip(interval.allocation.queues, interval.allocation.owner_ids, strict=True):
                owners_by_view[queue].append(ids)
    for queue, owners_of_queue in owners_by_view.items():
        if may_be_unassigned(owners_of_queue):
            yield split.hit(VIEWS_DISAGREE, queue=FindingQueue(split.views[0].topic, *queue, DISPUTED))


def may_be_unassigned(owners: Sequence[Collection[str]]) -> bool:
    """Return whether the queue's `owners`, by each list, have no id in common, while any list has one."""
    return any(owners) and not set(owners[0]).intersection(*owners[1:])


def severity(condition: Condition) -> str:
    """ERROR; WARN if it is by design, assumed, or over when a lock expires; INFO if no message was affected."""
    by_harm, ends_by_itself = severity_by_harm(condition), condition.cause in _WAITS
    is_mild = ends_by_itself or condition.is_assumed or condition.cause in _MAY_BE_BY_DESIGN
    return WARN if by_harm == ERROR and is_mild else by_harm


RULE = Rule(
    name="UNASSIGNED_QUEUE",
    headline="No consumer of {groups} owns {queues}",
    ended="each readable queue had an owner again",
    meaning="An unassigned queue has no owner, so its messages are not consumed.",
    decided_by="The replay gives the queue to no connection. WARN for an assumed strategy, `NOT_LISTED`, "
    "`WAITS_FOR_LOCK`, `LOCK_NOT_RELEASED` and `ROOM_FILTER` (INFO in a retry topic). INFO for a duplicate client id "
    "of less than 150 s.",
    causes={
        UnassignedCause.DUPLICATE_CLIENT_ID: Cause(
            "it belongs to the second (or later) index of a duplicate id",
            "Give every consumer of the group its own client id: those that share one take the same queues, and "
            "leave others unassigned.",
        ),
        UnassignedCause.MEMBER_BROADCASTS: Cause(
            "its member broadcasts, while others consume for the group",
            "A broadcasting consumer counts as a member, and reads all queues for itself. Give it a separate group.",
        ),
        UnassignedCause.MEMBER_NOT_SUBSCRIBED: Cause(
            "its member does not subscribe to the topic",
            "Make all members subscribe to the same topics, or give those that lack this one a separate group.",
        ),
        UnassignedCause.GROUP_OFFLINE: Cause("no broker of the topic lists a member", group_offline.START_OR_DELETE),
        UnassignedCause.MIXED_STRATEGIES: Cause("its member has another strategy", mixed_clients.ONE_STRATEGY),
        UnassignedCause.MIXED_CLIENTS: Cause(
            "its member computes the strategy differently", mixed_clients.ONE_KIND_OF_CLIENT
        ),
        UnassignedCause.MACHINE_ROOM_BUG: Cause(
            "MACHINE_ROOM in Go and in Java up to 4.7.1",
            "These clients take queues of other rooms. Upgrade Java clients to a version above 4.7.1; with Go, use "
            "another strategy.",
        ),
        UnassignedCause.ROOM_FILTER: Cause(
            "the broker is in no configured room",
            "MACHINE_ROOM skips brokers outside the configured rooms, by design. Add the room, or use "
            "MACHINE_ROOM_NEARBY.",
        ),
        UnassignedCause.CONFIG_HOLE: Cause(
            "no client's list contains it (also of `%RETRY%` topics)",
            "Add each of these queues to a client's configured list.",
        ),
        UnassignedCause.NO_VIRTUAL_NODES: Cause(
            "CONSISTENT_HASH with `virtualNodeCnt` 0",
            "Set virtualNodeCnt to 10, the default: with 0 no consumer is on the hash ring.",
        ),
        UnassignedCause.NOT_LISTED: Cause(
            "all members report their queues, none this one, and no strategy explains it",
            "Check whether the strategy leaves these queues out on purpose, and the consumers' rebalance logs for "
            "errors.",
        ),
        UnassignedCause.WAITS_FOR_LOCK: Cause(
            "its orderly consumer lacks the lock in two snapshots, or the broker's log refuses it (ALLOCATION_DRIFT "
            "from 60 s + 2 × `convergence_seconds` on)",
            "A client that stops without shutdown keeps its lock for 60 s: shut consumers down gracefully. If it "
            "lasts longer, find the client that renews the lock.",
        ),
        LOCK_NOT_RELEASED: Cause(
            "the same, and the last owner of any such queue of the topic is still a member",
            "Change the number of consumers less often: keep it fixed, or give the autoscaler a longer stabilization "
            "window. A client keeps the lock of a queue that it loses, and the next owner waits until it expires, 60 s "
            "after its last renewal. Then update the clients: rocketmq-client-go releases it with pull request 1220.",
            headline="Each change of the members of {groups} leaves {queues} without an owner",
        ),
        UnassignedCause.BROKER_NOT_READABLE: Cause(
            "no read permission for the topic",
            "Restore the read permission (perm 6) until the messages are consumed: the topic's or, if no topic of the "
            "broker can be read, the broker's (brokerPermission).",
            commands=(READ_PERMISSION,),
        ),
        VIEWS_DISAGREE: Cause(
            "brokers list different members, and no member gets it by every list (role `DISPUTED`)",
            "Every client must send heartbeats to every broker that hosts the topic: see MEMBERSHIP_VIEW_SPLIT.",
            severity=WARN,
        ),
    },
    evaluate=hits,
    severity=severity,
    detail=counting("{}", changes="change"),
)
