"""CLIENT_HUNG and GHOST_MEMBER: members that own queues and do nothing with them; CLOCK_DIFFERS and LONG_PULL_INTERVAL:
clients whose last pulls look old, although they do not hang.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from spark_jobs.domain.diagnosis.measure import pulling_by_hand
from spark_jobs.domain.diagnosis.table import LINE_OF, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.client_spans import client_spans, spans_showing, unwell_spans
from spark_jobs.domain.kernel.consume_statuses import rows_of, spans_of_snapshots, status_samples
from spark_jobs.domain.kernel.process_queues import clock_behind_ms
from spark_jobs.domain.model.clients import ClientReport
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import UNKNOWN, Mask, Numbers
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import SECOND, Lasting, Time, common, moment_text, overlaps, without
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.links import hosts, own_client
from spark_jobs.domain.rules.queue_owners import connections_of, owned_queues
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

HUNG, GHOST, NOT_IN_GROUP = "HUNG", "GHOST", "NOT_IN_GROUP"
#: How it shows that a client hangs.
NO_ANSWER, NO_PULL, NOTHING_CONSUMED = "NO_ANSWER", "NO_PULL", "NOTHING_CONSUMED"


def _hung_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client that hangs, interval, queue that it owns by replay); one condition per client and cause."""
    seconds = step.settings.thresholds.silent_after_seconds
    by_hand = pulling_by_hand(step)
    for client_id, spans in unwell_spans(step).items():
        hangs = list(_hangs(spans, seconds, by_hand))
        for hang, interval, queue, time in _owned_meanwhile(step, client_id, hangs, HUNG):
            (since, until), cause, hint = time, NO_ANSWER, _left(step, interval, client_id, time[1])
            if hang.state.answered:
                is_stale, cause, hint = queue[:3] in hang.state.stale, NO_PULL, None
                since, until = _unmoved(step, queue, hang, time) if is_stale else (until, until)
            if since < until:
                yield RuleHit(since, until, cause, client_id=client_id, queue=queue, implicated=client_id, hint=hint)
    yield from _broadcasting_hits(step)


def _broadcasting_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic of a group that broadcasts, client, snapshot) that shows it consume nothing, while another member
    does within a collection interval: each gets every message.
    """
    cadence = step.settings.cadence
    for interval in (each for each in step.intervals if each.reason is Reason.BROADCASTING):
        rates = _consumes(step, interval)
        busy = np.unique([at for times, consumes in rates.values() for at in times[consumes].tolist()])
        for client_id, (times, consumes) in rates.items():
            client = step.history.clients[client_id]
            is_any_busy = np.searchsorted(busy, times - cadence) < np.searchsorted(busy, times + cadence)
            numbers = np.searchsorted(client.series.times, times[~consumes & is_any_busy]).tolist()
            shown = ((number, client_id) for number in numbers)
            for span in spans_of_snapshots(client, shown, step.window, step.settings.max_gap):
                if time := common(span.time, (interval.start, interval.end)):
                    cause, topic = NOTHING_CONSUMED, interval.topic
                    yield RuleHit(*time, cause, topic, client_id=client_id, implicated=client_id)


def _consumes(step: AuditedStep, interval: RebalanceInterval) -> Mapping[str, tuple[Numbers, Mask]]:
    """By member, its snapshots in the interval that say how much it consumes of the topic, and which say anything."""
    rates = {}
    for client_id in dict.fromkeys(interval.client_ids):
        if client := step.history.clients.get(client_id):
            samples, rows = status_samples(client), rows_of(client, interval.topic, interval.start, interval.end)
            rows = rows[~np.isnan(samples.consumed_tps[rows])]
            rates[client_id] = client.series.times[samples.snapshot[rows]], samples.consumed_tps[rows] > 0
    return rates


def _ghost_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (time in which two snapshots show no consumer, interval, owned queue); one condition per client."""
    for client_id, spans in unwell_spans(step).items():
        ghosts = [span for span in spans if not span.state.in_group and span.seen_at > span.start]
        for _, interval, queue, time in _owned_meanwhile(step, client_id, ghosts, GHOST):
            connections = connections_of(interval, client_id)
            yield RuleHit(
                *time, NOT_IN_GROUP, client_id=client_id, queue=queue, implicated=client_id, connections=connections
            )


def _owned_meanwhile(
    step: AuditedStep, client_id: str, in_order: Sequence[Lasting], role: str
) -> Iterator[tuple[Lasting, RebalanceInterval, FindingQueue, Time]]:
    """The queues that a client owns by replay while each of these lasts, with the time."""
    for interval in step.replayed if in_order else ():
        for each, start, end in overlaps(interval.start, interval.end, in_order):
            for queue in owned_queues(interval, client_id, role):
                yield each, interval, queue, (start, end)


def _hangs(spans: Sequence[Span[ClientReport]], seconds: int, by_hand: Sequence[Time]) -> Iterator[Span[ClientReport]]:
    """The times in which a client hangs, in order. One old last pull counts at once, no answer after two snapshots."""
    for span in spans:
        if not span.state.answered and span.seen_at > span.start and span.end >= span.start + seconds * SECOND:
            yield span
        for start, end in without(span.time, by_hand) if span.state.stale else ():
            yield span._replace(start=start, end=end)


def _left(step: AuditedStep, interval: RebalanceInterval, client_id: str, until: int) -> str | None:
    """When it left the group, if its hang ends so. Source: ClientHousekeepingService closes a channel whose last
    heartbeat is 120 s old.
    """
    following = (each for each in step.replayed if each.topic == interval.topic and each.start == until)
    if until < interval.end or all(client_id in each.client_ids for each in following):
        return None
    at = moment_text(until)
    return (
        f"It left the group by {at}: its connection was closed, or a broker removed it 120 s after its last heartbeat."
    )


def _unmoved(step: AuditedStep, queue: FindingQueue, hang: Span[ClientReport], time: Time) -> Time:
    """The longest part of the time in which the queue's offset does not move while it is not pulled. Empty, if nothing
    waits in the queue, or the hang is a pause between two pulls: shorter than `pull_idle_seconds`, and the next one
    moved the offset. Offsets may show before the next client snapshot that the client pulls again.
    """
    start, end = time
    samples, settings = step.history.offsets.get(queue.topic), step.settings
    column = samples.columns.get((queue.broker_name, queue.queue_id)) if samples else None
    if samples is None or column is None:
        return time
    seen = samples.inside(hang.start - settings.max_gap, min(hang.end + 2 * settings.cadence, step.window.end))
    offsets, lag = samples.consumed_to[seen, column], samples.lag[seen, column]
    times, offsets = samples.times[seen][offsets != UNKNOWN], offsets[offsets != UNKNOWN]
    moved = times[1:][np.diff(offsets) != 0]
    is_pause = hang.end - hang.start < settings.thresholds.pull_idle_seconds * SECOND and (moved >= hang.end).any()
    if is_pause or (len(lag) and not lag.any()):
        return end, end
    inside = moved[(moved > start) & (moved < end)].tolist()
    parts = pairwise([start, *inside, end])
    return max(parts, key=lambda part: (part[1] - part[0], part))


CLIENT_HUNG = Rule(
    name="CLIENT_HUNG",
    headline="{subjects} in {groups} {subjects:hangs|hang}, but still {subjects:owns|own} queues",
    ended="the client answered again, or was gone",
    meaning="A member with queues does not answer, or has stopped pulling. Its queues are not consumed. The broker "
    "closes its connection about 120 s after its last heartbeat.",
    decided_by="By client snapshots. `NO_ANSWER` not if offsets of its queues advance meanwhile. `NO_PULL` not with "
    "CONSUME_ACTIVELY or LONG_PULL_INTERVAL, or if nothing waits in the queue, its offset moves, or its cached "
    "messages wait for the listener.",
    causes={
        NO_ANSWER: Cause(
            "connected, but no client snapshot got an answer for `silent_after_seconds` (60)",
            LINE_OF[StandingCause.NO_ANSWER].advice,
            lasts="silent_after_seconds",
        ),
        NO_PULL: Cause(
            "it answers, but a queue's last pull is more than `pull_idle_seconds` (120) old",
            LINE_OF[StandingCause.NO_PULL].advice,
            headline="{subjects} in {groups} {subjects:does|do} not pull {queues}",
            commands=(THREAD_DUMP,),
        ),
        NOTHING_CONSUMED: Cause(
            "the group broadcasts, and it consumes nothing of a topic for `stalled_after_seconds` (120), while another "
            "member does",
            "It gets none of the messages that others get. It reads its offsets from a file of its host "
            "(`rocketmq.client.localOffsetStoreDir`, by default ~/.rocketmq_offsets). If they are older than the "
            "oldest messages, it may ask for them for ever (RocketMQ issue #7740): stop it, remove the file of its "
            "client id and group, and start it. Otherwise look in its log for `consumer was paused`, or for refused "
            "pulls.",
            headline="{subjects} in {groups} {subjects:consumes|consume} nothing of {topics}, and other members do",
            lasts="stalled_after_seconds",
        ),
    },
    evaluate=_hung_hits,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
    spreads_by=hosts,
)
GHOST_MEMBER = Rule(
    name="GHOST_MEMBER",
    ended="brokers no longer listed the client",
    headline="{subjects} {subjects:is|are} listed in {groups}, but {subjects:has|have} no consumer there: "
    "{subjects:its|their} queues are not consumed",
    meaning="Brokers list a client whose process has no consumer of the group any more. Its queues are not consumed. "
    "The broker missed the request to unregister it, and the process stays connected for other groups "
    "(`rebalance-audit clients` finds them). Brokers before 5.5.1 keep it as long as that connection lives (RocketMQ "
    "issue #10435), later ones for 120 s, unless it uses `useHeartbeatV2`.",
    decided_by="The client has queues, and at least two client snapshots in `silent_after_seconds` (60) show no "
    "consumer of the group.",
    causes={
        NOT_IN_GROUP: Cause(
            "always",
            "Restart that process: brokers remove the member when its connection is closed. Upgrade brokers to 5.5.1 "
            "or later. Until then give consumers that are shut down in a running process a separate instanceName, and "
            "so their own connection.",
        )
    },
    evaluate=_ghost_hits,
    lasts="silent_after_seconds",
    needs=(CLIENT_SNAPSHOTS,),
    spreads_by=own_client,
)


CLOCK_BEHIND, ABOVE_IDLE_LIMIT = "CLOCK_BEHIND", "ABOVE_IDLE_LIMIT"


def _clock_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per client whose clock is behind by more than `pull_idle_seconds`, for the time of its snapshots."""
    idle_ms = step.settings.thresholds.pull_idle_seconds * 1000
    for client_id, client in step.history.clients.items():
        late_ms = clock_behind_ms(client, step.window, idle_ms)
        spans = client_spans(step)[client_id] if late_ms > idle_ms else ()
        if spans:
            time = spans[0].start, spans[-1].end
            yield _hit(*time, CLOCK_BEHIND, client_id, {"clock_behind_seconds": late_ms / 1000})


def _interval_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client, span in which it reports such an interval)."""
    idle_ms = step.settings.thresholds.pull_idle_seconds * 1000
    showing = spans_showing(step, lambda report: (report.pull_interval_ms or 0) > idle_ms)
    for client_id, spans in showing.items():
        for span in spans:
            interval_ms = span.state.pull_interval_ms
            if interval_ms is not None and interval_ms > idle_ms:
                yield _hit(span.start, span.end, ABOVE_IDLE_LIMIT, client_id, {"pull_interval_ms": interval_ms})


def _hit(start: int, end: int, cause: str, client_id: str, measures: dict[str, float]) -> RuleHit:
    return RuleHit(start, end, cause, client_id=client_id, implicated=client_id, measures=measures)


CLOCK_DIFFERS = Rule(
    name="CLOCK_DIFFERS",
    headline="{subjects:The clock of|The clocks of} {subjects} in {groups} {subjects:is|are} behind",
    meaning="The client's clock is behind the recorder's by at least `clock_behind_seconds`. Only times in the "
    "client's log differ: RocketMQ does not need equal clocks.",
    decided_by="A queue's last pull advances between two snapshots, but is older than the time between them by more "
    "than `pull_idle_seconds`.",
    causes={
        CLOCK_BEHIND: Cause(
            "always",
            "Set the clock of the client's host (NTP). Until then subtract the difference when you compare its log.",
        )
    },
    evaluate=_clock_hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
LONG_PULL_INTERVAL = Rule(
    name="LONG_PULL_INTERVAL",
    headline="{subjects} in {groups} {subjects:pulls|pull} seldom, as {subjects:its|their} pullInterval says",
    meaning="The client's pull interval is longer than a queue may be idle. So its rebalance drops the queue and "
    "takes it again, and it pulls one batch about every `pull_idle_seconds`.",
    decided_by="Its `pullInterval` is above `pull_idle_seconds` (120). Source: ProcessQueue.isPullExpired.",
    causes={
        ABOVE_IDLE_LIMIT: Cause(
            "always",
            "Set pullInterval to less than two minutes. To consume slowly, limit the rate in the listener, or lower "
            "consumeThreadMin and pullBatchSize.",
        )
    },
    evaluate=_interval_hits,
    hit_severity=INFO,
    lasts=0,
    needs=(CLIENT_SNAPSHOTS,),
)
