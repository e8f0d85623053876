"""MESSAGES_SKIPPED: a group's offset jumped over messages that were not consumed."""

from collections.abc import Iterator, Sequence, Set

import numpy as np

from spark_jobs.domain.diagnosis.measure import pulling_by_hand
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress, RebalanceInterval
from spark_jobs.domain.kernel.consume_statuses import rows_of, status_samples
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.kernel.offset_facts import (
    Jump,
    begun_at_end_again,
    first_commits_apart,
    first_commits_at_end,
    first_pulls_at_end,
    offset_jumps,
)
from spark_jobs.domain.kernel.process_queues import process_queue
from spark_jobs.domain.model.finding import QUIET, Finding, FindingQueue, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import UNKNOWN, ClientHistory, Floats, OffsetSamples
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.window import MILLISECOND, MINUTE, SECOND, common, islands, second_text
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.rule import Cause, Rule

SKIPPED = "SKIPPED"
#: The measures of all messages that were skipped at one sample, and of those in one interval.
TOGETHER, IN_ALL = "skipped_together", "skipped_in_all"
#: Clients report what they consumed in the minute before a snapshot; so much more than that is no inaccuracy.
_SLACK = 1.5
#: Why an offset jumped over messages; the first that applies, in this order.
LOST, RESET_FORWARD, COMMITTED_UNREAD = "LOST", "RESET_FORWARD", "COMMITTED_UNREAD"
SKIPPED_OR_CONSUMED, BEGAN_AT_END, OFFSETS_LOST = "SKIPPED_OR_CONSUMED", "BEGAN_AT_END", "OFFSETS_LOST"
SET_IN_PART = "SET_IN_PART"
#: Where members with it begin a queue without an offset: they jump over nothing, or over what is older.
FROM_THE_BEGINNING, FROM_A_TIME = "CONSUME_FROM_FIRST_OFFSET", "CONSUME_FROM_TIMESTAMP"
#: So many times the pace of the queue before is more than a listener is likely to become faster.
_VERY_FAST = 100


#: A jump over messages that were not consumed, as far as is known, and its cause.
_Skip = tuple[Jump, str]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (interval, queue, jump), for a collection interval from its sample on; a condition per topic, cause."""
    for progress in step.progress:
        if progress.is_filtered or progress.interval.allocation is None or progress.interval.is_shared_out:
            continue
        skips = [
            (jump, cause)
            for jump, cause in _skips(step, progress)
            if cause == BEGAN_AT_END or not _is_by_hand(step, jump)
        ]
        for cause, of_cause in by_key(skips, lambda skip: skip[1]).items():
            in_order = sorted((jump for jump, _ in of_cause), key=lambda jump: jump.start)
            for together in islands(in_order, QUIET):  # those of one incident
                yield from (_hit(step, progress, jump, cause, together) for jump in together)


def _is_by_hand(step: AuditedStep, jump: Jump) -> bool:
    """Return whether the application decides when to pull: its commits say little of what it consumed."""
    return any(start <= jump.at < end for start, end in pulling_by_hand(step))


def _begun_at_end(step: AuditedStep, samples: OffsetSamples) -> Iterator[Jump]:
    """The jumps over messages of queues that are begun at their end: by commits, or by pulls if made by hand."""
    time, settings = (step.window.read_from, step.window.end), step.settings
    yield from (jump for jump in first_commits_at_end(samples, time, settings) if not _is_by_hand(step, jump))
    if pulling_by_hand(step):  # seldom
        yield from (jump for jump in first_pulls_at_end(samples, time, settings) if _is_by_hand(step, jump))


def _skips(step: AuditedStep, progress: IntervalProgress) -> Sequence[_Skip]:
    samples = step.history.offsets.get(progress.interval.topic)
    if samples is None:
        return ()
    places = progress.interval.places
    settings, tolerance = step.settings, step.settings.thresholds.rewind_tolerance
    jumps = [
        jump
        for jump in offset_jumps(samples, step.window.start - settings.max_gap, step.window.end, settings)
        if jump.queue in places and progress.start <= jump.at < progress.end
    ]
    skips: list[_Skip] = []
    for jump in jumps:
        lost = _lost(step, progress.interval.topic, jump, tolerance)
        if lost:
            skips.append((jump._replace(messages=lost), LOST))
        elif jump.is_far:
            cause = _cause(step, progress.interval, jump)
            skips += [(jump, cause)] if cause else []
    time = step.window.read_from, step.window.end
    topic = step.history.topics.get(progress.interval.topic)
    apart = first_commits_apart(samples, topic, time, settings)
    first = [(jump, SET_IN_PART) for jump in apart if FROM_A_TIME not in _begins(step, jump)]
    set_in_part = {jump.queue for jump, _ in first}
    first += [(jump, BEGAN_AT_END) for jump in _begun_at_end(step, samples) if jump.queue not in set_in_part]
    first += [(jump, OFFSETS_LOST) for jump in begun_at_end_again(samples, topic, time, settings)]
    begun = [skip for skip in first if skip[0].queue in places and progress.start <= skip[0].at < progress.end]
    begun = [skip for skip in begun if _begins(step, skip[0]) != {FROM_THE_BEGINNING}]
    if begun and _were_consumed(step, progress.interval.topic, [jump for jump, _ in begun]):
        begun = []
    return [*_with_resets(skips, jumps), *begun]


def _with_resets(skips: Sequence[_Skip], jumps: Sequence[Jump]) -> Sequence[_Skip]:
    """The same; jumps of all queues with a backlog (two or more) at one sample are resets, other unreported ones go."""
    resets = {
        jump.at
        for jump, _ in skips
        if jump.waiting > 1 and jump.waiting <= sum(other.at == jump.at and other.is_far for other in jumps)
    }
    return [
        (jump, RESET_FORWARD if jump.at in resets and cause == COMMITTED_UNREAD else cause)
        for jump, cause in skips
        if jump.at in resets or cause != SKIPPED_OR_CONSUMED
    ]


def _begins(step: AuditedStep, jump: Jump) -> Set[str]:
    """The places at which members begin a queue without an offset, as brokers say."""
    during = (span.state for span in step.membership_spans if common(span.time, (jump.stood_since, jump.at)))
    return {state.consume_from_where for state in during if state.consume_from_where is not None}


def _were_consumed(step: AuditedStep, topic: str, begun: Sequence[Jump]) -> bool:
    """Return whether clients report to have consumed half of what these first offsets passed, besides the messages by
    which the topic's other offsets rose.
    """
    start, end = min(jump.stood_since for jump in begun), max(jump.at for jump in begun)
    samples = step.history.offsets[topic]
    offsets = samples.consumed_to[samples.inside(start, end + 1)]
    known = (offsets[0] != UNKNOWN) & (offsets[-1] != UNKNOWN)
    rose = int((offsets[-1] - offsets[0])[known].sum())
    rates = [_rates(client, topic, start, end) for client in step.history.clients.values()]
    consumed = sum(float(of_client.mean()) for of_client in rates if len(of_client)) * (end - start) / SECOND
    return 2 * (consumed - rose) >= sum(jump.messages for jump in begun)


def _rates(client: ClientHistory, topic: str, start: int, end: int) -> Floats:
    """Messages a second of the topic that a client reports in `[start, end)`, one entry per snapshot."""
    return np.asarray(status_samples(client).consumed_tps[rows_of(client, topic, start, end)])


def _lost(step: AuditedStep, topic: str, jump: Jump, tolerance: int) -> int:
    """Messages deleted before the group consumed them, if the offset landed at the oldest one by the next snapshot."""
    end = min(jump.at + step.settings.cadence, step.window.end)
    minimums = step.history.oldest_offsets(topic, jump.queue, step.window.read_from, end)
    landed = [least for least in minimums[-2:] if jump.since < least <= jump.to <= least + tolerance + jump.usual]
    return max((least - jump.since for least in landed if least - jump.since > tolerance), default=0)


def _cause(step: AuditedStep, interval: RebalanceInterval, jump: Jump) -> str | None:
    """Why an offset that jumped far did so; None: its messages were consumed, or may have been."""
    if not interval.owners_of(jump.queue):
        # Members are listed up to a round before or after their commits are read.
        near = 2 * step.settings.cadence
        alone = interval.start <= jump.before - near and jump.at + near <= interval.end
        return RESET_FORWARD if alone else None
    queue = MessageQueue(interval.topic, *jump.queue)
    # Where brokers list different members, the owner is that of one list or of the other.
    at_once = (each for each in step.replayed if each.topic == queue.topic and each.start <= jump.at < each.end)
    owners = set(interval.owners_of(jump.queue)).union(*(each.owners_of(jump.queue) for each in at_once))
    could = [_could_consume(step, step.history.clients.get(owner), queue, jump) for owner in owners]
    if all(consumed is False for consumed in could):
        return COMMITTED_UNREAD
    # A commit that comes late jumps, too, but from an offset that stood.
    moved = jump.before - jump.stood_since < 2 * step.settings.cadence
    is_likely = True not in could and moved and jump.messages >= _VERY_FAST * jump.usual
    return SKIPPED_OR_CONSUMED if is_likely else None


def _could_consume(step: AuditedStep, client: ClientHistory | None, queue: MessageQueue, jump: Jump) -> bool | None:
    """Return whether the client may have consumed the jump: while the offset stood, or by its rate; None: unknown."""
    if client is None:
        return None
    samples = process_queue(client, queue, jump.stood_since, jump.at)
    if len(samples.times) and samples.last_consume[-1] > jump.stood_since // MILLISECOND:
        return True
    until = max(jump.before + 2 * MINUTE, jump.at + MINUTE)
    rates = _rates(client, queue.topic, jump.at, min(until, step.window.end))
    is_fresh = len(samples.times) and jump.before - samples.times[-1] <= step.settings.max_gap
    if not is_fresh or not len(rates) or np.isnan(rates).any():
        return None
    return bool(jump.messages <= _SLACK * rates.max() * max(MINUTE, jump.at - jump.before) / SECOND)


def _hit(step: AuditedStep, progress: IntervalProgress, jump: Jump, cause: str, of_cause: Sequence[Jump]) -> RuleHit:
    """The hit of one of the jumps that have this cause in an interval."""
    in_all = sum(other.messages for other in of_cause)
    together = sum(other.messages for other in of_cause if other.at == jump.at)
    queue = FindingQueue(progress.interval.topic, *jump.queue, SKIPPED)
    owner_ids = progress.owner_ids(progress.interval.places[jump.queue])
    in_all_queues = f", {together:,} in all queues" if together > jump.messages else ""
    return RuleHit(
        jump.at,
        min(jump.at + step.settings.cadence, progress.end),
        *(cause, queue.topic),
        queue=queue,
        implicated=next(iter(owner_ids), None),
        severity=ERROR if cause == BEGAN_AT_END and _had_no_member(step, queue.topic, jump) else None,
        weight=jump.messages,
        measures={"skipped": jump.messages, TOGETHER: together, IN_ALL: in_all, "consumer_offset": jump.to},
        hint=f"{_step_text(step, jump, cause)}{in_all_queues}.{_others_text(step, queue.topic, jump, cause)}",
    )


def _had_no_member(step: AuditedStep, topic: str, jump: Jump) -> bool:
    """Return whether the group had no member in all the time in which the messages came: it consumed none of them."""
    time = jump.stood_since, jump.before
    meanwhile = [each for each in step.intervals if each.topic == topic and common((each.start, each.end), time)]
    return bool(meanwhile) and all(each.allocation and not each.members for each in meanwhile)


def _step_text(step: AuditedStep, jump: Jump, cause: str) -> str:
    """The first offset of the queue, or its jump, as a sentence without a full stop."""
    broker_name, queue_id = jump.queue
    name = f"{broker_name}:{queue_id}"
    if cause == BEGAN_AT_END and _is_by_hand(step, jump):
        was = f"No client pulled {name} until {second_text(jump.before)}, and the first pull offset is {jump.to}"
        return f"{was}: about {jump.messages:,} messages had come before"
    if cause in (BEGAN_AT_END, SET_IN_PART):
        return f"The first offset of {name} is {jump.to}: at least {jump.messages:,} messages had come before"
    if cause == OFFSETS_LOST:
        was = f"The offset of {name} was {jump.since}, then there was none, and the next one is {jump.to}"
        return f"{was}: at least {jump.messages:,} messages lie between them"
    return f"The offset of {name} jumped from {jump.since} to {jump.to}: about {jump.messages:,} messages"


def _others_text(step: AuditedStep, topic: str, jump: Jump, cause: str) -> str:
    """A sentence on the queues whose offset was set, or nothing."""
    if cause != SET_IN_PART:
        return ""
    samples = step.history.offsets[topic]
    lag = samples.lag[samples.times.searchsorted(jump.before)]
    return f" Meanwhile {known_total(lag) or 0:,} messages waited in {count(jump.waiting, 'other queue')}."


def _detail(finding: Finding) -> str:
    """The messages that were skipped; of older versions, those at one sample."""
    measures = finding.evidence.measured
    skipped = measures.get(IN_ALL) or measures.get(TOGETHER)
    return f"about {count(int(skipped), 'message')}" if skipped else ""


RULE = Rule(
    name="MESSAGES_SKIPPED",
    headline="Consumer offsets of {groups} jumped over messages that were not consumed in {queues}",
    detail=_detail,
    meaning="The consumer offset went forward over messages that no listener got. The backlog is gone, but not "
    "processed.",
    decided_by="The offset rises by more than `rewind_tolerance` at once: to the broker's oldest offset, or by ten "
    "times the queue's pace although its owner did not consume, or no member was there, or after a time without an "
    "offset. If clients do not report, all queues with a backlog must jump, by a hundred times their pace. With "
    "CONSUME_ACTIVELY only if a queue's first pull, as brokers since 5.1 report it, is at its end. Not with filters or "
    "POP.",
    causes={
        LOST: Cause(
            "the offset landed on the broker's oldest message (ERROR)",
            "The broker deleted these messages: process them again from their source. Raise fileReservedTime or the "
            "broker's disk space, and find out why the group was behind.",
            severity=ERROR,
        ),
        RESET_FORWARD: Cause(
            "all queues with a backlog jumped at one sample, or the group had no member (WARN)",
            "Somebody reset the offset to a later time, or skipped the backlog (`resetOffsetByTime`, "
            "`skipAccumulatedMessage`). If that was not intended, reset the group to before the oldest of them: the "
            "broker still has them.",
        ),
        COMMITTED_UNREAD: Cause(
            "otherwise, if the owner reports that it did not consume them (ERROR)",
            "Check for lost messages: the client committed past messages that its listener did not finish (an "
            "orderly Go listener that suspends the queue, for example), or somebody reset the queue. Compare with what "
            "the listener processed, and reset the group to before the oldest of them.",
            severity=ERROR,
        ),
        SKIPPED_OR_CONSUMED: Cause(
            "all queues with a backlog jumped, and clients do not report what they consumed (WARN)",
            "Either somebody skipped the backlog (`resetOffsetByTime`, `skipAccumulatedMessage`), or the consumers "
            "suddenly became that fast. Compare with what the listeners processed. Record the clients' running info: "
            "it shows which.",
            headline="Consumer offsets of {groups} jumped in {queues}: messages were skipped, or consumed very fast",
        ),
        BEGAN_AT_END: Cause(
            "its first offset is at its end, although messages came for `stalled_after_seconds` before, and clients do "
            "not report that they consumed these, or begin at the oldest message (CONSUME_FROM_FIRST_OFFSET) (WARN; "
            "ERROR if the group had no member meanwhile)",
            "The group began these queues at their end (CONSUME_FROM_LAST_OFFSET, the default), for example after a "
            "topic was extended while consumers were down. Reset the group in these queues to the time at which they "
            "were added. Extend topics while all consumers run. An application that assigns "
            "queues by itself (Flink) should look for new ones often, and begin them at their oldest message.",
        ),
        SET_IN_PART: Cause(
            "a new group's first offset of a queue is at the end, and those of all other queues are where nothing but "
            "a reset puts them: at messages from before it was there, above the oldest (ERROR)",
            "Reset the group in these queues, too, while it is online, to the time at which the others began. They had "
            "no offset, so members began them at the end: only there consumeFromWhere counts. Before 4.9.3 a reset of "
            "a group that is not online sets as many queues of each broker as the last one has (RocketMQ issue #3673).",
            severity=ERROR,
            headline="{groups} began {queues} at the end and all other queues far back, so messages were skipped",
        ),
        OFFSETS_LOST: Cause(
            "the broker had an offset, then none, and the next one is at the end, ten times the queue's pace or more "
            "above, although clients do not report that they consumed what lies between (ERROR)",
            "The broker lost the group's offsets, so its clients began these queues at the end "
            "(CONSUME_FROM_LAST_OFFSET, the default). Reset the group there to before the oldest of these messages: "
            "the broker still has them. Find out why: a broker that restarts with another store or config folder, or "
            "with LMQ enabled (RocketMQ issue #7087), reads another file of offsets. Other groups of the broker lost "
            "theirs, too.",
            severity=ERROR,
            headline="A broker lost the consumer offsets of {groups} in {queues}, so messages were skipped",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
)
