"""CONSUME_FAILING: listeners reject messages, which come again, later, until they are given up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from spark_jobs.domain.diagnosis.diagnoses import diagnoses
from spark_jobs.domain.diagnosis.standing import standing_seconds
from spark_jobs.domain.diagnosis.table import StandingCause
from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.client_spans import seen_twice
from spark_jobs.domain.kernel.consume_statuses import rows_in, spans_of_snapshots, status_samples
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.finding import Finding, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import DEAD_LETTERS, RETRY, UNKNOWN, ClientHistory
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.window import SECOND, common, second_text
from spark_jobs.domain.phrases import count, known_sum
from spark_jobs.domain.rules.not_retried import (
    MINUTE_MS,
    NOT_RETRIED,
    RETRIED_IN_PART,
    Reported,
    not_retried,
    reported,
)
from spark_jobs.domain.rules.pulled_again import PULLED_AGAIN, pulled_again
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.rules.standing import cause_of, hit_of
from spark_jobs.domain.status.lagging_queues import counted, moments, rising_time

LISTENER_FAILS = "LISTENER_FAILS"
SOME_FAIL = "SOME_FAIL"
SENT_BACK = "SENT_BACK"
TIMED_OUT = "TIMED_OUT"
GIVEN_UP = "GIVEN_UP"
DELIVERED_AGAIN = "DELIVERED_AGAIN"
RETRIED = "RETRIED"
#: The causes of messages that fail again and again without going to the retry topic.
_IN_PLACE = (StandingCause.RETRIED_IN_PLACE, StandingCause.NOT_SENT_BACK)
#: A listener that rejects so much is an ERROR.
MOST_PERCENT = 50
#: One that rejects so much is worth a word, if it lasts.
_SOME_PERCENT = 1
_RATES = ("failed_per_second", "consumed_per_second")
#: The broker delays the first retry by 10 s (`messageDelayLevel`, level 3).
_RETRIED_WITHIN = 60 * SECOND
_NONE_CAME_BACK = (
    "None of what they reject came back, though the first retry is due after 10 s. Unless the listener asks for a "
    "longer delay or for dead letters, the broker refuses what clients send back, which a Go client ignores "
    "(rocketmq-client-go issue #1106), and the messages are lost: look in its log. Or the broker delivers no delayed "
    "messages: compare both numbers of each scheduleMessageOffset in `mqadmin brokerStatus` (RocketMQ issue #1472)."
)


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (client, topic, snapshot) that shows a failing listener, one condition per topic; where no client shows
    one, one per queue of the retry topic, one condition per group; those of listeners that reject less, and of
    `not_retried` and `pulled_again`; and one for the messages that were given up.
    """
    retried = list(_retried_in_place(step))
    listener_hits = list(_listener_hits(step, retried))
    yield from retried
    yield from listener_hits or (() if retried else _retry_hits(step))
    yield from _some_fail(step)
    yield from pulled_again(step)
    given_up = dead_letters(step)
    # That nothing came back all the time, the findings about listeners say.
    if _retries(step) and not ((listener_hits or retried) and _none_came_back(step)):
        yield from not_retried(step, given_up.state if given_up else 0)
    if given_up is not None:
        yield RuleHit(given_up.start, given_up.end, GIVEN_UP, measures={"dead_letters": given_up.state})


@cached_with_value
def _counts(step: AuditedStep) -> Mapping[str, int]:
    """Messages in a step: `consumed` of ordinary topics, `sent_back` to the retry topic; empty: one is unknown."""
    sent_back = known_sum(known_total(each.produced) for each in step.progress if not each.interval.is_ordinary)
    if sent_back is None:  # as mostly
        return {}
    consumed = known_sum(known_total(each.consumed) for each in step.progress if each.interval.is_ordinary)
    return {} if consumed is None else {"consumed": consumed, "sent_back": sent_back}


def _retried_in_place(step: AuditedStep) -> Iterator[RuleHit]:
    """One per queue that stands because its message at the committed offset fails again and again."""
    for each in diagnoses(step):
        if each.cause in _IN_PLACE:
            standing, queue = each.standing, each.standing.queue
            offset, waiting = standing.span.offset, standing.lag_last
            yield hit_of(
                *(each, each.cause.value, RETRIED),
                minimum_seconds=standing_seconds(step),
                severity=ERROR if standing.seconds >= step.settings.thresholds.stalled_after_seconds else WARN,
                weight=waiting,
                measures={"consumer_offset": offset, "waiting": waiting},
                hint=f"It is the message at offset {offset} of {queue.broker_name}:{queue.queue_id}.",
            )


def _listener_hits(step: AuditedStep, retried: Iterable[RuleHit]) -> Iterator[RuleHit]:
    """Those of clients that do not just retry one message in its place."""
    none_came_back = _none_came_back(step)
    retried_of = by_key(retried, lambda hit: (hit.implicated, hit.topic))
    clients = step.history.clients
    percent = step.settings.thresholds.failing_percent
    every = {each: dict(_failing_listeners(client, step, percent)) for each, client in clients.items()}
    for client_id, client in clients.items():
        for topic, failing in every[client_id].items():
            is_alone = not any(topic in of for each, of in every.items() if each != client_id)
            newcomer = _joined(step, client_id, failing) if failing and is_alone else None
            lasts = bool(failing) and failing[-1].end - failing[0].start >= _RETRIED_WITHIN
            for span in seen_twice(failing):
                start, end, _, rate = span
                if any(common((start, end), (hit.start, hit.end)) for hit in retried_of.get((client_id, topic), ())):
                    continue
                yield RuleHit(
                    *(start, end, LISTENER_FAILS, topic),
                    implicated=client_id,
                    severity=ERROR if rate["failed_percent"] >= MOST_PERCENT else WARN,
                    weight=rate["failed_percent"],
                    measures={**rate, **_counts(step)},
                    hint=_NONE_CAME_BACK if none_came_back and lasts and not client.consumes_orderly else newcomer,
                )


def _some_fail(step: AuditedStep) -> Iterator[RuleHit]:
    """Those of clients that reject less, and do not retry it in its place, with their rates on average; one condition
    per group.
    """
    most = step.settings.thresholds.failing_percent
    for client_id, client in step.history.clients.items():
        failing = () if client.consumes_orderly else _failing_listeners(client, step, _SOME_PERCENT)
        for _, spans in failing:
            few = [span for span in seen_twice(spans) if span.state["failed_percent"] < most]
            failed, consumed = (sum(span.state[name] for span in few) for name in _RATES)
            for span in few:
                rates = zip(_RATES, (failed / len(few), consumed / len(few)), strict=True)
                measures = {**dict(rates), "failed_percent": failed * 100 / consumed, **_counts(step)}
                yield RuleHit(
                    *(span.start, span.end, SOME_FAIL),
                    implicated=client_id,
                    weight=measures["failed_percent"],
                    measures=measures,
                )


def _joined(step: AuditedStep, client_id: str, failing: Sequence[Span[Mapping[str, float]]]) -> str | None:
    """A sentence on the only member that fails, if it joined others less than a minute and a round before."""
    within = _RETRIED_WITHIN + step.settings.cadence
    joins = (
        each for each in step.rebalances if client_id in each.moves.joined and len(each.interval.members or ()) > 1
    )
    at = next((each.moment for each in joins if 0 <= failing[0].start - each.moment <= within), None)
    if at is None:
        return None
    return (
        f"{client_id} joined at {second_text(at)}, and no other member fails: check whether it belongs to the group, "
        "and has the version and configuration of the others."
    )


def _retries(step: AuditedStep) -> Sequence[IntervalProgress]:
    """The progress of the retry topic of a group that pulls."""
    retried = [each for each in step.progress if not each.interval.is_ordinary]
    pull = all(each.interval.allocation and not each.interval.has_popping_members for each in retried)
    return retried if pull else ()


def _none_came_back(step: AuditedStep) -> bool:
    """Return whether the retry topic of a group that pulls got nothing in the step, nor its dead letters."""
    retried = _retries(step)
    return bool(retried) and not any(each.produced.any() for each in retried) and dead_letters(step) is None


def _retry_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """Messages that went to the group's retry topic in the step, compared with those consumed of its other topics;
    unknown queues count as 0, but without any that is known there are no hits. The time is that in which they did.
    """
    thresholds = step.settings.thresholds
    counts = _counts(step)
    if not counts or counts["sent_back"] < thresholds.failing_messages:
        return
    if counts["sent_back"] * 100 < counts["consumed"] * thresholds.failing_percent:
        return
    reports = reported(step)
    cause = _cause(step, reports)
    # A client sends back what hangs for as long as consumeTimeout.
    if cause == DELIVERED_AGAIN and any(each.cause == StandingCause.LISTENER_HANGS for each in diagnoses(step)):
        return
    start, end, severity = _sent_back_time(step)
    if cause == TIMED_OUT:
        # Once in that time, a client looks for messages that take longer.
        end = min(end + max(minutes for _, minutes in reports.slow.values()) * 60 * SECOND, step.window.end)
    slowest = zip(("consume_rt_ms", "consume_timeout_minutes"), max(reports.slow.values(), default=()), strict=False)
    hit = RuleHit(
        *(start, end, cause),
        severity=severity,
        measures={**counts, **dict(slowest)},
        hint=_hint(reports) if cause == SENT_BACK else None,
    )
    for progress in (each for each in step.progress if not each.interval.is_ordinary):
        if time := common((progress.start, progress.end), (hit.start, hit.end)):
            for place in np.flatnonzero(progress.produced > 0).tolist():
                yield replace(hit, start=time[0], end=time[1], queue=queue_at(progress, place, RETRIED))
    for client_id in reports.slow if cause == TIMED_OUT else ():
        yield replace(hit, implicated=client_id)


def _cause(step: AuditedStep, reports: Reported) -> str:
    """The cause of messages in the retry topic, by the reports of the clients."""
    if reports.fails or reports.slow:
        return SENT_BACK if reports.fails else TIMED_OUT
    members = {client_id for interval in step.replayed for client_id in interval.client_ids}
    # No call takes so long that its client could send the message back.
    are_short = all(reports.longest_ms.get(client_id, np.nan) < MINUTE_MS for client_id in members)
    return DELIVERED_AGAIN if members and are_short else SENT_BACK


def _hint(reports: Reported) -> str:
    """Sentences on where to look, by the clients' running info, or a sentence that it is not recorded."""
    if not reports.longest_ms:
        return (
            "If there are none, a listener may take longer than consumeTimeout (15 min by default): the client then "
            "sends the message back, too. "
            "Record the clients' running info: it says which clients fail, how often, and how long they take."
        )
    if reports.slow:
        return "The listener takes longer than consumeTimeout, too: the client sends such messages back."
    return "" if reports.fails else "No client reports failures: look at those whose running info is not recorded, too."


def _detail(finding: Finding) -> str:
    """The part that fails, or how long one takes, and the messages that came back, or were given up."""
    measures = {name: int(value) for name, value in finding.evidence.measures or () if value is not None}
    texts = []
    if finding.cause in (LISTENER_FAILS, SOME_FAIL):
        texts = [f"{measures['failed_percent']:,} % of the messages of a consumer"]
    elif finding.cause == TIMED_OUT:
        minutes = measures["consume_rt_ms"] // 60_000
        texts = [f"one takes {minutes:,} min, consumeTimeout is {measures['consume_timeout_minutes']:,} min"]
    elif finding.cause in (NOT_RETRIED, RETRIED_IN_PART):
        about = float(f"{measures['not_retried']:.2g}")
        is_alone = finding.cause == RETRIED_IN_PART or _broker(finding) is not None
        texts = [f"about {about:,.0f} messages" if is_alone else f"about {about:,.0f} messages of one of them"]
    elif finding.cause == PULLED_AGAIN:
        rates = (finding.evidence.measured[name] for name in ("consumed_per_second", "different_per_second"))
        consumed, different = (float(rate or 0) for rate in rates)
        texts = [f"one consumes {consumed:,.0f} messages/s, at most {different:,.1f} of them different"]
        if different:
            texts.append(f"each about {consumed / different:,.0f} times")
    elif finding.cause == GIVEN_UP:
        texts = [count(measures["dead_letters"], "message")]
    if measures.get("sent_back"):
        came_back = f"{count(measures['sent_back'], 'message')} came back"
        texts.append(f"{came_back} while {measures['consumed']:,} were consumed")
    return ", and ".join(texts)


def _broker(finding: Finding) -> str | None:
    """The only broker that does not deliver what is delayed, or delivers again; None: there is no such broker."""
    of_queues = {queue.broker_name for queue in finding.evidence.queues}
    return of_queues.pop() if finding.cause in (NOT_RETRIED, PULLED_AGAIN) and len(of_queues) == 1 else None


def _sent_back_time(step: AuditedStep) -> tuple[int, int, str]:
    """When more messages were sent back than a listener may reject, and how bad it was then."""
    retry_topics, topics = (
        {each.interval.topic for each in step.progress if each.interval.is_ordinary is is_ordinary}
        for is_ordinary in (False, True)
    )
    thresholds, at = step.settings.thresholds, moments(step, retry_topics)
    sent_back = counted(step, retry_topics, "produced", at)
    consumed = counted(step, topics, "forward", at)
    excess = sent_back * 100 - consumed * thresholds.failing_percent
    chance = thresholds.verdict_window_seconds * SECOND
    time = rising_time(at, sent_back, excess, thresholds.failing_messages * 100, chance)
    if time is None:
        return step.window.start, step.window.end, WARN
    first, last = at.searchsorted(time).tolist()
    is_most = (sent_back[last] - sent_back[first]) * 100 >= (consumed[last] - consumed[first]) * MOST_PERCENT
    end = step.window.end if last == len(at) - 1 else time[1]
    return time[0], end, ERROR if is_most else WARN


def _failing_listeners(
    client: ClientHistory, step: AuditedStep, percent: int
) -> Iterator[tuple[str, list[Span[Mapping[str, float]]]]]:
    """Per ordinary topic the snapshots of the window that show a listener which rejects so much: messages a second
    over the client's last minute, and the percentage that was rejected.
    """
    samples, window, thresholds = status_samples(client), step.window, step.settings.thresholds
    if samples.most_failed_tps * 60 < thresholds.failing_messages:
        return
    rows = rows_in(client, window.read_from, window.end)
    failed, consumed = samples.failed_tps[rows], samples.consumed_tps[rows]
    # NaN compares false: what is unknown does not fail.
    fails = (failed * 60 >= thresholds.failing_messages) & (failed * 100 >= consumed * percent)
    rows = rows[fails]
    for code in np.unique(samples.topic[rows]).tolist():
        if not samples.topics[code].startswith(RETRY):
            of_topic = rows[samples.topic[rows] == code]
            failed, consumed = samples.failed_tps[of_topic], samples.consumed_tps[of_topic]
            columns = (*_RATES, "failed_percent")
            rates = zip(failed.tolist(), consumed.tolist(), (failed * 100 / consumed).tolist(), strict=True)
            rate_of = (dict(zip(columns, numbers, strict=True)) for numbers in rates)
            shown = zip(samples.snapshot[of_topic].tolist(), rate_of, strict=True)
            yield samples.topics[code], spans_of_snapshots(client, shown, window, step.settings.max_gap)


def dead_letters(step: AuditedStep) -> Span[int] | None:
    """Messages that the broker moved to `%DLQ%` + group after `maxReconsumeTimes` (16, `SendMessageProcessor`) in the
    step, between the samples that show it; None: none, or unknown.
    """
    samples, window = step.history.topics.get(DEAD_LETTERS + step.history.consumer_group), step.window
    if samples is None:
        return None
    rows = samples.inside(window.read_from, window.end)
    times, offsets = samples.times[rows], samples.max_offset[rows]
    grown = np.where((offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN), offsets[1:] - offsets[:-1], 0)
    new = np.maximum(grown, 0).sum(axis=1) * (times[1:] >= window.start)
    growing = np.flatnonzero(new)
    if not growing.size:
        return None
    first, last = int(times[growing[0]]), int(times[growing[-1] + 1])
    # What the last sample shows lasts for as long as a snapshot holds.
    until = min(last + step.settings.max_gap, window.end) if last == times[-1] else last
    return Span(max(first, window.start), max(until, window.start + 1), last, int(new.sum()))


RULE = Rule(
    name="CONSUME_FAILING",
    headline="Listeners of {groups} fail to consume messages",
    detail=_detail,
    meaning="The listener throws an exception or returns RECONSUME_LATER. The message goes to the retry topic, is "
    "delivered again after 10 s, 30 s, 1 min … 2 h, 16 times by default, and then goes to the dead-letter topic. More "
    "consumers cannot reduce such a backlog.",
    decided_by="At least `failing_percent` (10) of a topic's messages and `failing_messages` (10) a minute fail for "
    "`busy_after_seconds` (120). ERROR from 50 % on, else WARN, as for `GIVEN_UP`; INFO for `SOME_FAIL`.",
    causes={
        **{cause: cause_of(cause) for cause in _IN_PLACE},
        LISTENER_FAILS: Cause(
            "two successive client snapshots show it",
            "Check the logs of these consumers for exceptions of the listener. More consumers would fail just as "
            "often. What fails more often than maxReconsumeTimes (16 by default) is a dead letter, in `%DLQ%` + group, "
            "and in no backlog: send it again.",
            lasts="busy_after_seconds",
        ),
        SOME_FAIL: Cause(
            "the same, and it is less, at least 1 %, for `verdict_window_seconds` (300)",
            "Check the logs of these consumers for exceptions of the listener.",
            severity=INFO,
            lasts="verdict_window_seconds",
        ),
        SENT_BACK: Cause(
            "no client reports failures, but the retry topic grows by as much",
            "Check the logs of the group's consumers for exceptions of the listener.",
        ),
        TIMED_OUT: Cause(
            "the same, and a concurrent listener takes longer than `consumeTimeout` (15 min by default)",
            "No listener fails. The client sends back what takes longer than consumeTimeout while the listener "
            "continues with it, so these messages are consumed again. Raise consumeTimeout, or let another process do "
            "the long work.",
            headline="Listeners of {groups} take longer than consumeTimeout, so messages are sent back",
        ),
        DELIVERED_AGAIN: Cause(
            "the same, and all members report that nothing failed, and response times below a minute",
            "No consumer sent these messages back, so they are consumed again. A broker delivers old retries and "
            "delayed messages again if another node leads its raft group, or it starts with an old `delayOffset.json` "
            "(RocketMQ issue #2357, fixed in 4.9.0): look at its log and its failover. Or somebody sent the dead "
            "letters again. Listeners must tolerate duplicates.",
            headline="Messages come back to {groups} that no consumer sent back",
        ),
        PULLED_AGAIN: Cause(
            "for twice `verdict_window_seconds` (300) a member consumes at least twice as many messages as waited in "
            "its queues or were produced, and no offset goes back",
            "Offsets look right, but the broker seems to send the pulls of these queues back. Look at it, above all at "
            "tiered storage (RocketMQ issue #7363), and in the client's log for `[BUG] pull message result maybe data "
            "wrong`. Listeners must tolerate duplicates. More consumers do not help.",
            headline="{members} in {groups} {members:consumes|consume} messages of {queues} again and again",
        ),
        NOT_RETRIED: Cause(
            "clients report failures, and nothing comes into the retry queue of their broker, which had messages "
            "before, for `verdict_window_seconds` (300): at least 30 messages, and a tenth of what fails, are missing",
            "Unless the listener asks for a longer delay, the broker does not deliver what is delayed: a client sends "
            "what fails back to the broker it came from, which delivers it after 10 s (delay level 3). Look in its "
            "storeerror.log for `Offset not matched`, and compare both numbers of scheduleMessageOffset_3 in `mqadmin "
            "brokerStatus` (RocketMQ issue #4226). These messages wait in its SCHEDULE_TOPIC_XXXX and are not lost, "
            "unless the broker refuses what a Go client sends back (rocketmq-client-go issue #1106).",
            headline="What fails on {brokers} in {groups} does not come back",
        ),
        RETRIED_IN_PART: Cause(
            "for two such windows at most three quarters of what fails come into the retry topic, into which all came "
            "before, and no more fails than then",
            "Compare the group's retryQueueNums (`mqadmin updateSubGroup -q`) with the queues of its retry topic: a "
            "broker puts what is sent back into one of so many queues, and no consumer reads those that the topic does "
            "not have (RocketMQ issue #3953). Give the topic as many (`mqadmin updateTopic -r -w`). Look into the dead "
            "letters, too.",
            headline="Of what fails in {groups} a part does not come back",
        ),
        GIVEN_UP: Cause(
            "messages went to the dead-letter topic",
            "Read the group's dead-letter topic, fix the listener, and send the messages again: nothing else "
            "delivers them.",
            headline="Messages of {groups} were given up: they are dead letters",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts=0,
    broker=_broker,
)
