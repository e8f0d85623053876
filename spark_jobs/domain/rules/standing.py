"""CONSUMER_STOPPED, CONSUMER_STALLED, OFFSET_HELD_BACK and COMMITS_SELDOM: the hits and causes of these rules are the
lines of the table of diagnosis. And queues of topics that a broker refuses to members: the group's subscription there,
that of its last heartbeat, lacks them. A push consumer then gets SUBSCRIPTION_NOT_EXIST, 24 (`PullMessageProcessor`);
pull consumers send their own subscription.
"""

from collections.abc import Hashable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from spark_jobs.domain.diagnosis.diagnoses import Diagnosis, diagnoses
from spark_jobs.domain.diagnosis.measure import commits_of, finished, pulling_by_hand
from spark_jobs.domain.diagnosis.standing import standing_seconds
from spark_jobs.domain.diagnosis.table import LINE_OF, LINES, StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.unseen import is_handed_out, seconds_listed_by_proxies
from spark_jobs.domain.model.causes import REFUSED
from spark_jobs.domain.model.finding import Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, UNKNOWN, Matrix
from spark_jobs.domain.model.intervals import duration_text
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.model.window import MILLISECOND, SECOND, Time, common, joined, without
from spark_jobs.domain.rocketmq.strategies import is_popped
from spark_jobs.domain.rules.commands import CLUSTER_LIST, THREAD_DUMP
from spark_jobs.domain.rules.in_common import standing_broker, standing_to_the_end, with_what_they_share
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule

BEHIND, HELD_BACK, UNCOMMITTED = "BEHIND", "HELD_BACK", "UNCOMMITTED"
ONE_MESSAGE = "ONE_MESSAGE"
#: Of a backlog that is counted by what was handed out.
ON_TOP = "The offsets show what was handed out: messages that clients hold and have not acknowledged come on top."
_ELSEWHERE = "The application decides when to pull: if it keeps its offsets elsewhere, silence this."
_GO_PANICS = (
    "Look for panics in the log of the Go client: each takes one of its goroutines (rocketmq-client-go issue #909)."
)
#: Lines that a rule about clients reports, too: short ones are left to it.
_OF_CLIENTS = (
    StandingCause.NOT_IN_GROUP,
    StandingCause.NO_ANSWER,
    StandingCause.NOT_TAKEN,
    StandingCause.NO_LOCK,
    StandingCause.PULLS_SELDOM,
    StandingCause.NO_PULL,
)
_MILD: Mapping[StandingCause, str] = {
    StandingCause.PRIORITY_STARVATION: INFO,
    StandingCause.FILTERED: INFO,
    StandingCause.EXPIRED: WARN,
    StandingCause.SLOW_CALLS: WARN,
}


def cause_of(cause: StandingCause) -> Cause:
    """The cause of a rule that a line is."""
    line = LINE_OF[cause]
    commands = (CLUSTER_LIST,) if cause is StandingCause.NO_MASTER else (THREAD_DUMP,) if line.thread_dump else ()
    return Cause(line.when, line.advice, line.headline, commands)


def hit_of(diagnosis: Diagnosis, cause: str, role: str, **more: Any) -> RuleHit:
    """The hit of a queue that stands, for all of that time, with its topic, its role and its owner."""
    standing = diagnosis.standing
    return RuleHit(
        *(standing.start, standing.end, cause, standing.queue.topic),
        queue=FindingQueue(*standing.queue, role),
        implicated=diagnosis.client_id,
        **more,
    )


def _stalled_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of queues whose offset never moved, and of queues that a broker refuses."""
    yield from with_what_they_share(step, _standing_hits(step, has_moved=False))
    yield from refused_hits(step, BEHIND)


def _standing_hits(step: AuditedStep, *, has_moved: bool) -> Iterator[RuleHit]:
    """One per queue that stands, owner and time, with the facts that are known of the owner; `has_moved`: its offset
    moved before, under the owners that it had when it began to stand for this reason.
    """
    moved_first: dict[Hashable, bool] = {}
    for each in diagnoses(step):
        standing = each.standing
        has_moved_first = moved_first.setdefault((standing.queue, standing.span.start, each.cause), standing.has_moved)
        is_reported = has_moved_first is has_moved and each.cause in _CAUSES
        severity = _severity(step, each) if is_reported else None
        if severity is not None:
            age_ms = standing.seen_at // MILLISECOND - standing.stored if standing.stored > 0 else UNKNOWN
            measures = {"lag_first": standing.lag_first, "lag_last": standing.lag_last, "age_ms": age_ms}
            yield hit_of(
                *(each, each.cause.value, BEHIND),
                minimum_seconds=0,
                severity=severity,
                # Without a commit, the messages that came wait.
                weight=standing.span.waiting if standing.lag_last == UNKNOWN else standing.lag_last,
                measures={name: None if value == UNKNOWN else value for name, value in measures.items()},
                hint=ON_TOP if is_handed_out(step, standing.interval) else _known(each),
            )


def _known(diagnosis: Diagnosis) -> str | None:
    """Sentences on what is known of the client; None: nothing is."""
    is_known = diagnosis.standing.span.is_committed or diagnosis.facts.reads_on is False
    may_be_elsewhere = diagnosis.facts.by_hand and not is_known
    language = diagnosis.standing.interval.languages.get(diagnosis.client_id or "")
    may_panic = diagnosis.cause is StandingCause.LISTENER_HANGS and language == "GO"
    known = _GO_PANICS if may_panic else "", diagnosis.facts.in_words(), _ELSEWHERE if may_be_elsewhere else ""
    return " ".join(filter(None, known)) or None


def _severity(step: AuditedStep, diagnosis: Diagnosis) -> str | None:
    """The severity of a queue that stands for so long; None: not long enough, or nothing came."""
    thresholds, standing, facts = step.settings.thresholds, diagnosis.standing, diagnosis.facts
    span, is_pulled = standing.span, facts.owner == "CLIENT"
    if span.waiting <= thresholds.allowed_lag:
        is_long = span.produced > 0 and standing.owned_seconds >= 2 * thresholds.verdict_window_seconds
        return WARN if is_pulled and is_long and not facts.filtered else None
    if not span.is_committed:
        return _without_commits(step, diagnosis) if not facts.filtered else None
    # Of an application that pulls when it likes, where nothing came, or where no commit says what was read, only a long
    # time says anything.
    is_read_on = diagnosis.cause is StandingCause.NOT_COMMITTED and facts.commits != "OVERDUE"
    is_slow = facts.by_hand or span.produced <= 0 or is_read_on
    minimum = thresholds.stalled_after_seconds
    if standing.seconds >= (max(thresholds.verdict_window_seconds, minimum) if is_slow else minimum):
        return WARN if is_read_on else _MILD.get(diagnosis.cause, _of_long(diagnosis))
    is_pause = is_pulled and not is_slow and diagnosis.cause not in (*_MILD, *_OF_CLIENTS)
    # Where owners changed, they take their time to begin.
    settling = thresholds.settled_seconds if standing.start > span.start else 0
    return WARN if is_pause and standing.seconds >= standing_seconds(step) + settling else None


def _of_long(diagnosis: Diagnosis) -> str:
    """ERROR, unless the queue may have no owner by design: then WARN, and INFO in a retry topic."""
    standing = diagnosis.standing
    if standing.interval.reason is not Reason.SETTINGS_MISSING or standing.has_moved:
        return ERROR
    return INFO if standing.queue.topic.startswith(RETRY) else WARN


def _without_commits(step: AuditedStep, diagnosis: Diagnosis) -> str | None:
    """The severity of a queue without any commit; None: it has had its owner for too short a time. Where the owner is
    not known, if a proxy lists members all the while, and the group has no offset at all: a broker commits one with the
    first message that it hands out (`PopMessageProcessor.getInitOffset`).
    """
    standing, owned_seconds = diagnosis.standing, diagnosis.standing.owned_seconds
    if diagnosis.facts.owner != "CLIENT":
        is_unseen = diagnosis.facts.owner == "UNSEEN" and not standing.span.others_commit
        owned_seconds = seconds_listed_by_proxies(step, (standing.start, standing.seen_at)) if is_unseen else 0
    if owned_seconds < step.settings.thresholds.stalled_after_seconds:
        return None
    return ERROR if standing.span.others_commit else WARN


def _held_back_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per queue and time; one condition per topic. The measures are those of the queue with most messages."""
    for each in diagnoses(step):
        done = finished(step, each.standing, each.client_id) if each.cause is StandingCause.HELD_BACK else None
        if done is not None:
            queue, offset, messages = each.standing.queue, each.standing.span.offset, done[1]
            yield hit_of(
                *(each, ONE_MESSAGE, HELD_BACK),
                weight=messages,
                measures={"consumer_offset": offset, "consumed_again": messages},
                hint=f"The message at offset {offset} of {queue.broker_name}:{queue.queue_id} is not finished; "
                f"{messages:,} behind it are consumed again after a restart.",
            )


def _seldom_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per queue and time between two commits; one condition per topic."""
    for each in diagnoses(step):
        is_seldom = each.cause is StandingCause.COMMITS_SELDOM
        if is_seldom and (seldom := commits_of(step, each.standing.queue.topic)):
            yield hit_of(each, each.cause.value, UNCOMMITTED, measures={"usual_seconds": seldom.distance / SECOND})


def _usual_distance(finding: Finding) -> str:
    """How often they are committed."""
    usual = finding.evidence.measured.get("usual_seconds")
    return f"usually every {duration_text(timedelta(seconds=round(usual)))}" if usual else ""


_CAUSES: Mapping[str, Cause] = {
    line.cause.value: cause_of(line.cause) for line in LINES if "CONSUMER_STOPPED" in line.rules
}
_DECIDED_BY = (
    "The committed offset stands while messages wait: WARN from 60 s (and three collection intervals) on, ERROR from "
    "`stalled_after_seconds` (120) on. If at most `allowed_lag` (32) messages wait: WARN from twice "
    "`verdict_window_seconds` on. Only in queues with an owner, or an unknown one. [The cause](../diagnosis.md) is the "
    "first line of one table that fits the facts."
)
CONSUMER_STOPPED = Rule(
    name="CONSUMER_STOPPED",
    ended="the offsets moved again",
    headline="Consumers of {groups} stopped committing offsets for {queues}",
    meaning="A consumer stopped committing offsets while messages wait. It had made progress before.",
    decided_by=_DECIDED_BY,
    causes=_CAUSES,
    evaluate=lambda step: with_what_they_share(step, _standing_hits(step, has_moved=True)),
    detail=standing_to_the_end,
    broker=standing_broker,
)
CONSUMER_STALLED = Rule(
    name="CONSUMER_STALLED",
    ended="the offsets moved again",
    headline="Consumers of {groups} make no progress in {queues}",
    meaning="The queue has a backlog, but its consumer offset does not advance, nor did it since its owner has it.",
    decided_by=_DECIDED_BY,
    causes={
        **_CAUSES,
        REFUSED: Cause(
            "for 60 s the broker's subscription of the group lacks the topic: it refuses pulls (code 24, "
            "SUBSCRIPTION_NOT_EXIST)",
            "A broker keeps the subscription of the group's last heartbeat, which lacks this topic. Make all members "
            "subscribe to the same topics, or give the consumers of each topic a separate group.",
        ),
    },
    evaluate=_stalled_hits,
    continues=CONSUMER_STOPPED.name,
    hit_severity=ERROR,
    detail=standing_to_the_end,
    broker=standing_broker,
)
OFFSET_HELD_BACK = Rule(
    name="OFFSET_HELD_BACK",
    ended="the offset moved on",
    headline="One message holds back the offset of {queues} in {groups}, while the client consumes the queue",
    meaning="One unfinished message holds back the committed offset of its queue. The client consumes the messages "
    "behind it: the backlog that brokers show is not real, and a restart consumes them again.",
    decided_by="For `verdict_window_seconds` (300) the offset stands while messages are produced, and client "
    "snapshots show its message as the oldest cached one, while later ones are consumed. It replaces CONSUMER_STOPPED "
    "and CONSUMER_STALLED. WARN.",
    causes={ONE_MESSAGE: cause_of(StandingCause.HELD_BACK)},
    evaluate=_held_back_hits,
    hit_severity=WARN,
    lasts="verdict_window_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
COMMITS_SELDOM = Rule(
    name="COMMITS_SELDOM",
    headline="Offsets of {topics} are committed seldom in {groups}, all queues at once",
    meaning="The application commits its offsets seldom, as Flink does with its checkpoints. Between two commits the "
    "lag says nothing about its consumption.",
    decided_by="Offsets of all queues in which messages wait move at the same samples, at even distances of a minute "
    "or more (three commits, or two of several queues). After twice the usual distance it is CONSUMER_STOPPED.",
    causes={StandingCause.COMMITS_SELDOM: cause_of(StandingCause.COMMITS_SELDOM)},
    evaluate=_seldom_hits,
    detail=_usual_distance,
    hit_severity=INFO,
    lasts="stalled_after_seconds",
)


#: Two heartbeats of every member: a subscription that changes with each of them refuses only now and then.
_LASTS = 60 * SECOND


def refused_hits(step: AuditedStep, role: str) -> Iterator[RuleHit]:
    """One per (interval, queue with messages of which none is consumed, owner, time in which its broker refuses it)."""
    by_hand = pulling_by_hand(step)
    for broker in step.memberships:
        for interval in step.replayed:
            for time in _refusing(step, broker, interval.topic):
                part = common(time, (interval.start, interval.end))
                for start, end in without(part, by_hand) if part else ():
                    yield from _queues(step, interval, broker, (start, end), role)


def _refusing(step: AuditedStep, broker: str, topic: str) -> Iterator[Time]:
    """The times in which a broker with members does not know that the group subscribes to the topic."""
    lacking = [
        (span.start, span.end)
        for span in step.memberships[broker]
        if span.state.connections and topic not in span.state.topics
    ]
    return (time for time in joined(lacking) if time[1] - time[0] >= _LASTS)


def _queues(step: AuditedStep, interval: RebalanceInterval, broker: str, time: Time, role: str) -> Iterator[RuleHit]:
    allocation, members = interval.allocation, interval.members or ()
    pushing = {member.client_id for member in members if member.known and not is_popped(member.strategy)}
    if allocation is None or not interval.is_ordinary:
        return
    for queue, client_ids in zip(allocation.queues, allocation.owner_ids, strict=True):
        if queue[0] == broker and _is_standing(step, interval.topic, queue, time):
            for client_id in pushing.intersection(client_ids):
                refused = FindingQueue(interval.topic, *queue, role)
                yield RuleHit(*time, REFUSED, interval.topic, queue=refused, implicated=client_id)


def _is_standing(step: AuditedStep, topic: str, queue: tuple[str, int], time: Time) -> bool:
    """Return whether messages were produced to the queue meanwhile, and none is known to have been consumed."""
    samples = step.unread.get(topic) or step.history.offsets.get(topic)
    if samples is None or queue not in samples.columns:
        return False
    cells = samples.inside(*time), samples.columns[queue]
    return _grows(samples.end_offset[cells]) and not _grows(samples.consumed_to[cells])


def _grows(offsets: Matrix) -> bool:
    known = offsets[offsets != UNKNOWN]
    return bool(len(known) and known[-1] > known[0])
