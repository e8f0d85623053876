"""BROKER_NOT_READABLE: no member can read a broker, or some of its queues, that hold messages for the group."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spark_jobs.domain.diagnosis.standing import standing_seconds
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.matrices import last_known
from spark_jobs.domain.kernel.removed_queues import (
    Route,
    around,
    has_lost_store,
    is_forbidden,
    is_up_without,
    readable_before,
    removed_queues,
)
from spark_jobs.domain.model.finding import ConflictingValue, Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import UNKNOWN, OffsetSamples, Place
from spark_jobs.domain.model.message_queue import PERM_READ, PERM_WRITE, queue_ranges
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import SECOND, Time, common, moment_text
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.commands import BROKER_PERMISSION, CLUSTER_LIST, READ_PERMISSION, READ_QUEUES, ROUTE
from spark_jobs.domain.rules.links import brokers
from spark_jobs.domain.rules.name_servers import unknown_to
from spark_jobs.domain.rules.rule import Cause, Rule

NOT_READABLE = "NOT_READABLE"
#: The measure of the messages that its queues held at the last sample.
LAST_KNOWN = "last_known_backlog"
#: A name server drops a broker that fell silent 120 s after it last registered, which it looks for every 10 s
#: (`RouteInfoManager.scanNotActiveBroker`): the route names it so much longer than it answers.
_DROPPED_BY = 130 * SECOND
#: A client asks its name server for routes so often (`pollNameServerInterval`).
_ROUTE_POLL = 30 * SECOND
_IS_UP = (
    "{} has answered since, so it is not down: it came back without the topic, as with an empty store, or it is cut "
    "off from the name servers (then `clusterList` does not list it)."
)
_IS_BACK = "{} was back in the route at {}."
_MAY_BE_DOWN = "No answer of {} is known since: it is down, or cut off."
#: Why a broker that holds messages of a topic cannot be read.
LEFT_ROUTE, STORE_LOST, TOPIC_GONE = "LEFT_ROUTE", "STORE_LOST", "TOPIC_GONE"
NO_READ_PERMISSION, NO_BROKER_PERMISSION = "NO_READ_PERMISSION", "BROKER_PERMISSION"
NOT_REACHED, QUEUES_REMOVED = "NOT_REACHED", "QUEUES_REMOVED"


class NotReadable(NamedTuple):
    """A maximal time in which a broker could not be read for one cause; `seen_at`: the last snapshot that showed it;
    `perm`: its last permission then, None: it is not in the route.
    """

    start: int
    end: int
    cause: str
    seen_at: int
    perm: int | None = None
    severity: str | None = None
    explanation: str | None = None


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time in which a broker cannot be read, queue with backlog there); one condition per topic and cause."""
    yield from _not_reached_hits(step)
    yield from _removed_hits(step)
    for topic, route in step.routes.items():
        if topic in step.history.offsets:
            before = seen_before(step, topic, route)
            for broker, spans in not_readable_spans(route, before).items():
                known = [explained for span in spans if (explained := _explained(step, topic, broker, span))]
                yield from _broker_hits(step, topic, broker, known, before.get(broker))


def seen_before(step: AuditedStep, topic: str, route: Route) -> dict[str, int]:
    """Brokers that only routes before the step's window named as readable: each with the start of the last hour."""
    named = {entry.broker_name for entry in route[0].state}
    if all(queues is None or queues[0] in named for queues in step.history.readable.get(topic, ())):
        return {}
    before = readable_before(step, topic)
    missing = by_key(sorted(filter(None, before)), lambda queues: queues[0])
    return {broker: max(before[queues] for queues in missing[broker]) for broker in sorted(missing.keys() - named)}


def not_readable_spans(route: Route, before: Collection[str] = ()) -> Mapping[str, Sequence[NotReadable]]:
    """Per broker, the spans in which it could not be read, since it was first in the route (or was in it `before`)."""
    spans_of_broker: dict[str, list[NotReadable]] = {broker: [] for broker in before}
    for span in route:
        perm_of = {entry.broker_name: entry.perm for entry in span.state}
        for broker in perm_of:
            spans_of_broker.setdefault(broker, [])
        for broker, spans in spans_of_broker.items():
            perm = perm_of.get(broker)
            cause = LEFT_ROUTE if perm is None else None if perm & PERM_READ else NO_READ_PERMISSION
            if cause and spans and spans[-1].end == span.start and spans[-1].cause == cause:
                spans[-1] = spans[-1]._replace(end=span.end, seen_at=span.seen_at, perm=perm)
            elif cause:
                spans.append(NotReadable(span.start, span.end, cause, span.seen_at, perm))
    return spans_of_broker


def _explained(step: AuditedStep, topic: str, broker: str, span: NotReadable) -> NotReadable | None:
    """The same with its real cause, a severity and an explanation; None: the step ends before other snapshots of its
    round can show whether the broker is up. Of a topic that is gone INFO, until it lasts: it may be created again.
    """
    time = span.start, span.end
    if span.perm is not None:
        cause = NO_BROKER_PERMISSION if is_forbidden(step, broker, time) else span.cause
        words = "write only" if span.perm & PERM_WRITE else "neither read nor write"
        return span._replace(cause=cause, explanation=f"The permission of {broker} is {span.perm}, {words}.")
    if is_up_without(topic, broker, time, step.routes, step.memberships, step.settings.cadence):
        lasts = span.seen_at - span.start >= step.settings.thresholds.persistent_after_seconds * SECOND
        return span._replace(cause=TOPIC_GONE, severity=WARN if lasts else INFO)
    if has_lost_store(step, topic, broker, time):
        return span._replace(cause=STORE_LOST)
    after = (entry.broker_name for each in step.routes[topic] if each.start == span.end for entry in each.state)
    if broker in after:
        explanation = _IS_BACK.format(broker, moment_text(span.end))
    else:
        # Later than in the first round of the time.
        answers, since = step.history.memberships.get(broker), span.start + step.settings.cadence
        is_up = answers is not None and answers.any_inside(since, min(span.end, step.window.end))
        explanation = (_IS_UP if is_up else _MAY_BE_DOWN).format(broker)
    is_cut = span.start > step.window.end - step.settings.cadence
    return None if is_cut else span._replace(explanation=explanation)


def held_backlog(samples: OffsetSamples, broker: str, start: int, end: int) -> dict[Place, int]:
    """The last known backlog, in messages, of each of the broker's queues by the samples in `[start, end)`."""
    backlogs = zip(samples.queues, last_known(samples.lag[samples.inside(start, end)]).tolist(), strict=True)
    return {queue: backlog for queue, backlog in backlogs if queue[0] == broker and backlog != UNKNOWN}


def _broker_hits(
    step: AuditedStep, topic: str, broker: str, spans: Sequence[NotReadable], last_hour: int | None
) -> Iterator[RuleHit]:
    """Samples count from one `max_gap` before a span, so that a broker which is gone has some, and before the first
    one also while the route still named a broker that had fallen silent; each counts for the last span that it may
    count for. Where the broker left before the window, those of its `last_hour` count, too.
    """
    gap, samples = step.settings.max_gap, step.history.offsets[topic]
    for place, span in enumerate(spans):
        following = spans[place + 1].start - gap if place + 1 < len(spans) else span.end
        since = max(span.start - gap - (0 if place else _DROPPED_BY), step.window.read_from)
        backlogs = held_backlog(samples, broker, since, min(span.end, following))
        if place == 0 and last_hour is not None:
            backlogs = held_backlog(samples, broker, *around(step, last_hour)) | backlogs
        # A restart may take so long.
        is_short = span.cause == LEFT_ROUTE and span.end - span.start < standing_seconds(step) * SECOND
        more = {"severity": span.severity or (WARN if is_short else None), "explanation": span.explanation}
        is_gone = span.cause == TOPIC_GONE and any(backlogs.values())
        for queue in (queue for queue, backlog in backlogs.items() if backlog > 0 or is_gone):
            end = _followed(step, samples, queue, span) if span.cause == LEFT_ROUTE else span.end
            yield _hit((span.start, end), span.cause, topic, queue, sum(backlogs.values()), **more)


def _followed(step: AuditedStep, samples: OffsetSamples, queue: Place, span: NotReadable) -> int:
    """When a queue was consumed again after its broker was back in the route, if clients may not have asked for the
    route before; else, or if its offset went back, when it was back. Messages may have been consumed after the last
    sample before it left.
    """
    until = min(span.end + _ROUTE_POLL + step.settings.cadence, step.window.end)
    rows, column = samples.inside(span.end, until), samples.columns[queue]
    of_queue = samples.times[rows], samples.consumed_to[rows, column], samples.lag[rows, column]
    times, consumed, lag = (numbers[of_queue[1] != UNKNOWN] for numbers in of_queue)
    before = last_known(samples.consumed_to[samples.inside(step.window.read_from, span.start), [column]])[0]
    again = times[(np.diff(consumed, prepend=consumed[:1]) > 0) | (lag == 0)]
    return int(again[0]) if len(again) and consumed[0] >= before else span.end


def _hit(time: Time, cause: str, topic: str, queue: Place, total: int, **more: Any) -> RuleHit:
    """The hit of one queue; `total`: the messages in all queues of the event."""
    not_readable_queue = FindingQueue(topic, *queue, NOT_READABLE)
    return RuleHit(*time, cause, topic, queue=not_readable_queue, weight=total, measures={LAST_KNOWN: total}, **more)


def _removed_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per span and queue that is beyond the read queues and holds messages."""
    for topic, removed in by_key(removed_queues(step), lambda queue: queue.topic).items():
        for start, began in by_key(removed, lambda queue: queue.start).items():
            total = sum(queue.backlog for queue in removed if queue.start <= start < queue.end)
            for queue in began:
                yield _hit((start, queue.end), QUEUES_REMOVED, topic, queue.queue, total)


def _detail(finding: Finding) -> str:
    """The queues that were removed, and the messages that they hold; or that the broker is up."""
    if finding.cause == TOPIC_GONE:
        return "the broker is up"
    if finding.cause != QUEUES_REMOVED:
        return ""
    names = queue_ranges({(queue.broker_name, queue.queue_id) for queue in finding.evidence.queues})
    backlog = int(finding.evidence.measured.get(LAST_KNOWN) or 0)
    return f"{names} are beyond readQueueNums, {count(backlog, 'message')} wait in them"


def _not_reached_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (span in which a readable broker lists no member while others do, queue that stands there)."""
    for interval in step.replayed:
        members = interval.members or ()
        if not members or interval.has_popping_members:
            continue
        for broker in sorted({broker for broker, _ in interval.queues or ()}):
            for span in step.memberships.get(broker, ()):
                if span.state.connections:
                    continue
                time = common((span.start, span.end), (interval.start, interval.end))
                if time and not _all_others_stand(step, interval.topic, broker, time):
                    yield from _standing_hits(step, interval, broker, time, span.seen_at)


def _all_others_stand(step: AuditedStep, topic: str, broker: str, time: Time) -> bool:
    """Return whether messages wait at other brokers, too, and none is consumed: then not this broker is the matter, but
    the members, which another broker may list after they are gone.
    """
    samples = step.history.offsets.get(topic)
    if samples is None:
        return False
    inside = samples.inside(*time)
    other_columns = [column for column, (name, _) in enumerate(samples.queues) if name != broker]
    consumed, lag = samples.consumed_to[inside][:, other_columns], samples.lag[inside][:, other_columns]
    return bool(lag.size and (lag[-1] > 0).any() and (consumed == consumed[:1]).all())


def _standing_hits(
    step: AuditedStep, interval: RebalanceInterval, broker: str, time: Time, seen_at: int
) -> Iterator[RuleHit]:
    """The hits of the broker's queues in which messages wait at the end of the time, and whose offset never moved."""
    topic, samples = interval.topic, step.history.offsets.get(interval.topic)
    client_ids = tuple(dict.fromkeys(interval.client_ids))
    waiting = standing_backlog(samples, broker, time[0], time[1] - step.settings.cadence // 2) if samples else {}
    for queue_id in waiting:
        yield _hit(
            time,
            NOT_REACHED,
            topic,
            (broker, queue_id),
            sum(waiting.values()),
            seen_at=min(seen_at, time[1]),
            minimum_seen_seconds=2 * step.settings.thresholds.heartbeat_seconds,
            conflicting_values=(ConflictingValue(broker, ()), ConflictingValue("other brokers", client_ids)),
            hint=unknown_to(step, topic, {broker}, time),
        )


def standing_backlog(samples: OffsetSamples, broker: str, start: int, end: int) -> dict[int, int]:
    """By queue id the messages that wait at the last sample in `[start, end)`, of queues of the broker whose offset is
    the same in all of them; of a queue that was never committed, the messages produced between the first and the last.
    """
    inside, columns = samples.inside(start, end), [n for n, (name, _) in enumerate(samples.queues) if name == broker]
    consumed, end_offset = samples.consumed_to[inside][:, columns], samples.end_offset[inside][:, columns]
    if not consumed.size:
        return {}
    lag = samples.lag[inside][-1, columns]
    waiting = np.where(consumed[-1] == UNKNOWN, end_offset[-1] - end_offset[0], lag)
    known = (end_offset[-1] != UNKNOWN) & (end_offset[0] != UNKNOWN)
    is_standing = (consumed == consumed[0]).all(axis=0) & known & (waiting > 0)
    return {samples.queues[columns[place]][1]: int(waiting[place]) for place in np.flatnonzero(is_standing).tolist()}


_READ_AGAIN = "consumers could read the queues again"

RULE = Rule(
    name="BROKER_NOT_READABLE",
    headline="Consumers cannot read {brokers}, which {brokers:holds|hold} messages for {groups}",
    meaning="Consumers cannot read a broker that holds messages for the group.",
    decided_by="The route and the group's last samples with a backlog, for `sightings_days` or until the topic is "
    "created again. ERROR; WARN if a broker left the route for less than 60 s (and three collection intervals).",
    causes={
        LEFT_ROUTE: Cause(
            "the route no longer names the broker; until its queues are consumed again, if that is before clients ask "
            "for the route again (30 s)",
            "If it is away, bring it back. If its queues still stand then, restart the clients: they have not followed "
            "its route. To remove a broker on purpose, drain it first (perm 4: read only).",
            commands=(ROUTE, CLUSTER_LIST),
            ended=_READ_AGAIN,
        ),
        STORE_LOST: Cause(
            "the same, and it came back with all queues (those of no other broker) below half of their former ends",
            "The broker came back with an empty store: what waited there is lost, unless its old store still exists. "
            "Check which volume it uses. Reset committed offsets that are beyond the new ends (OFFSET_BEYOND_END).",
            headline="{brokers} {brokers:has|have} lost {brokers:its store|their stores}, and with it messages for "
            "{groups}",
            commands=(CLUSTER_LIST,),
        ),
        TOPIC_GONE: Cause(
            "only this topic's route lacks the broker, or it still answers about the group (INFO; WARN from "
            "`persistent_after_seconds` on)",
            "No broker is down: somebody deleted the topic, and its messages are gone. Create it again, or end the "
            "group's subscription. If it was not deleted, compare `mqadmin topicRoute` of each name server.",
            headline="{topics} {topics:is|are} gone from {brokers}, and {groups} {groups:subscribes|subscribe} to it",
            commands=(ROUTE,),
        ),
        NO_READ_PERMISSION: Cause(
            "the route names the broker without read permission",
            "Restore the topic's read permission (perm 6) until the messages are consumed. If that changes nothing, "
            "the broker's own permission forbids it (brokerPermission).",
            commands=(READ_PERMISSION,),
            ended=_READ_AGAIN,
        ),
        NO_BROKER_PERMISSION: Cause(
            "the same of several topics of the group, retry topics too, at once, and of no topic it may be read",
            "Set the broker's brokerPermission to 6: it masks the permissions of all its topics. `updateTopicPerm` "
            "reports success, and changes nothing there.",
            commands=(BROKER_PERMISSION,),
            ended=_READ_AGAIN,
        ),
        QUEUES_REMOVED: Cause(
            "`readQueueNums` was lowered below a queue that still held messages",
            "Raise readQueueNums to its former value until the messages are consumed. To remove queues, first lower "
            "writeQueueNums, and lower readQueueNums when all groups have consumed the rest.",
            commands=(READ_QUEUES,),
            ended=_READ_AGAIN,
        ),
        NOT_REACHED: Cause(
            "only this broker lists no member for 60 s, its queues' offsets stand, and messages wait; not with POP",
            "Check from a consumer's host that it reaches the address that the broker registers (brokerIP1; `mqadmin "
            "clusterList` shows it). If the broker has a new address, restart the clients: they have not followed it. "
            "Otherwise check for a firewall, and whether the broker knows the group (autoCreateSubscriptionGroup).",
            commands=(CLUSTER_LIST,),
            ended=_READ_AGAIN,
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
    spreads_by=brokers,
    per_broker=True,
    detail=_detail,
)
