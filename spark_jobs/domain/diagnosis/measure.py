"""Measures the facts of a queue that stands, from samples, lists of members, and what its owner reports; and how often
offsets are committed.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from spark_jobs.domain.diagnosis.absences import all_expired
from spark_jobs.domain.diagnosis.facts import Commits, Facts, InHand, Listener, Lock, Oldest, Owner, Pulls
from spark_jobs.domain.diagnosis.standing import Standing
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_spans
from spark_jobs.domain.kernel.process_queues import ProcessQueue, process_queue
from spark_jobs.domain.kernel.removed_queues import brokers_without_master
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.clients import ClientReport, ThrottleCause
from spark_jobs.domain.model.history import PULLS_BY_HAND, RETRY, UNKNOWN, ClientHistory, Mask, Matrix, OffsetSamples
from spark_jobs.domain.model.message_queue import FIFO, PRIORITY
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import CONSUMED_UNSEEN, Reason, Status
from spark_jobs.domain.model.window import MILLISECOND, SECOND, Time, common, joined

_JAVA = "JAVA"
#: A fact of several snapshots is that of more than half of them.
_MOST = 0.5
#: A client that pulls shows another time of its last pull in more than so many of its snapshots, if there are enough:
#: an idle one asks every 15 s (long polling).
_FEW, _PULLS = 0.3, 5
#: `ConsumerManager.scanNotActiveChannel`, CHANNEL_EXPIRED_TIMEOUT.
_EXPIRES = 120 * SECOND
#: A client consumed again if its last time is so many milliseconds later: less is the same time, reported less exactly.
_AGAIN_MS = 1000
_Reports = Sequence[Span[ClientReport]]


#: Commits so far apart, and so many collection intervals, are seldom; by default clients commit every 5 s.
_SELDOM, _INTERVALS = 60 * SECOND, 3
#: Distances are even if the greatest is so many times the least at most.
_EVEN = 1.5
#: Moves of several queues are one commit within so many collection intervals.
_AT_ONCE = 1.5
#: A queue that no other one moves with needs so many commits, several queues need one less.
_COMMITS = 3


class SeldomCommits(NamedTuple):
    """The usual `distance` of a topic's commits, microseconds; `keeps_up`: the lag right after them does not grow."""

    distance: int
    keeps_up: bool


@cached_with_value
def seldom_commits(samples: OffsetSamples, start: int, end: int, cadence: int) -> SeldomCommits | None:
    """The usual distance of a topic's commits in `[start, end)`; None: not seldom, or too few commits show it.

    At each commit, the offsets move of all queues in which messages waited.
    """
    seen = samples.inside(start, end)
    times, offsets, lag = samples.times[seen], samples.consumed_to[seen], samples.lag[seen]
    moved = (offsets[1:] != offsets[:-1]) & (offsets[1:] != UNKNOWN) & (offsets[:-1] != UNKNOWN)
    rows = np.flatnonzero(moved.any(axis=1))
    several = int(moved.any(axis=0).sum()) > 1
    # A commit that happens while brokers are asked shows in two samples.
    begins = np.flatnonzero(np.diff(times[rows + 1], prepend=start - 2 * cadence) > _AT_ONCE * cadence)
    if len(begins) < _COMMITS - several:
        return None
    firsts, lasts = rows[begins], rows[np.append(begins[1:], len(rows)) - 1]
    if (lasts - firsts > 1).any():
        return None
    distances = np.diff(times[firsts + 1])
    if distances.min() < max(_SELDOM, _INTERVALS * cadence) or distances.max() > _EVEN * distances.min():
        return None
    waited = (lag[firsts] > 0) & (lag[firsts] != UNKNOWN)
    if not (np.logical_or.reduceat(moved[rows], begins) | ~waited).all():
        return None
    left = np.where(lag != UNKNOWN, lag, 0).sum(axis=1)
    before, first, last = left[firsts[-1]], left[lasts[0] + 1], left[lasts[-1] + 1]
    return SeldomCommits(int(np.median(distances)), bool(last <= max(first, before // 2)))


def finished(step: AuditedStep, standing: Standing, client_id: str | None) -> tuple[int, int] | None:
    """The last snapshot (microseconds) at which an owner had finished messages behind one that it has not while the
    offset stood, and how many; None: none, or unknown.

    A client cannot have finished what it has in hand. One that makes its process queue again seems to consume, too.
    """
    client = step.history.clients.get(client_id or "")
    if client is None:
        return None
    samples = process_queue(client, standing.queue, standing.start + 1, standing.seen_at + 1)
    advances = np.flatnonzero(_consumes(samples)) + 1
    if not len(advances):
        return None
    at = int(samples.times[advances[-1]])
    offsets = step.history.offsets[standing.queue.topic]
    lag = offsets.lag[offsets.inside(standing.span.start, at + 1), offsets.columns[standing.queue[1:]]]
    messages = int(lag[lag != UNKNOWN][-1:].sum()) - int(samples.cached_count[advances[-1]])
    return (at, messages) if messages > 0 else None


def _consumes(samples: ProcessQueue) -> Mask:
    """By snapshot, without the first, a mask of those at which the owner had consumed since the one before."""
    return np.diff(samples.last_consume) >= _AGAIN_MS


def facts_of(step: AuditedStep, standing: Standing, client_id: str | None) -> Facts:
    """The facts of a queue that stands and one of its owners; None: the owner is not known. `extent` is the default:
    it takes all queues that stand.
    """
    time, topic, span = (standing.start, standing.seen_at), standing.queue.topic, standing.span
    without_master = brokers_without_master(step, topic, (time[0], time[0] + 2 * step.settings.cadence))
    facts = Facts(
        owner=_owner(standing),
        masterless=standing.queue.broker_name in without_master,
        starved=_is_starved(step, standing),
        blocked=_is_blocked(step, standing),
        expired=span.produced <= 0 and all_expired(step, topic, span.queue, span.offset, standing.stored),
        commits=_commits(step, standing),
        reads_on=_reads_on(step, standing),
        by_hand=any(common(time, by_hand) for by_hand in pulling_by_hand(step)),
        filtered=any(row.is_filtered for row in step.progress if row.interval.topic == topic),
        sent_back=_sent_back(step, time),
    )
    return facts if client_id is None else _with_client(step, standing, client_id, facts)


@cached_with_value
def pulling_by_hand(step: AuditedStep) -> Sequence[Time]:
    """The times in which the application decides when members pull."""
    return joined(span.time for span in step.membership_spans if span.state.consume_type == PULLS_BY_HAND)


def _owner(standing: Standing) -> Owner:
    if standing.interval.is_shared_out or standing.interval.has_popping_members:
        return "HANDED_OUT"
    if standing.owners:
        return "CLIENT"
    if standing.interval.reason in CONSUMED_UNSEEN:
        return "UNSEEN"
    unknown = (Reason.SETTINGS_MISSING, Reason.UNKNOWN_STRATEGY)
    return "STRATEGY_UNKNOWN" if standing.interval.reason in unknown else "NOT_REPLAYED"


def _is_starved(step: AuditedStep, standing: Standing) -> bool:
    """Return whether the broker had to give messages of a higher priority, which is the queue's id, all the time: a POP
    request for all queues gets the highest one's (unless `priorityOrderAsc` is false); owners pull each of theirs.
    Source: `SendMessageProcessor`, `PopMessageProcessor.popMsgFromTopic`.
    """
    topic, broker_name, queue_id = standing.queue
    if standing.interval.status == Status.REPLAYED or step.topic_type(topic) != PRIORITY:
        return False
    samples = step.history.offsets[topic]
    broker_queues = ((number, column) for (name, number), column in samples.columns.items() if name == broker_name)
    higher = [column for number, column in broker_queues if number > queue_id]
    seen = samples.inside(standing.start + 1, standing.end)
    waiting = samples.lag[seen][:, higher] > 0
    return bool(waiting.any(axis=1).all() and samples.forward[seen][1:, higher].any())


def _is_blocked(step: AuditedStep, standing: Standing) -> bool:
    """Return whether the group consumes other queues of an ordered topic on that broker: its consumers ask for all of
    them, and the broker hands out nothing behind messages that are not acknowledged (`ConsumerOrderInfoManager`).
    """
    topic, broker_name, queue_id = standing.queue
    if step.topic_type(topic) != FIFO:
        return False
    samples = step.history.offsets[topic]
    other_columns = [
        column for (name, number), column in samples.columns.items() if name == broker_name and number != queue_id
    ]
    return bool(samples.forward[samples.inside(standing.start + 1, standing.end)][1:, other_columns].any())


def commits_of(step: AuditedStep, topic: str) -> SeldomCommits | None:
    """How the topic's offsets are committed in the window; None: not seldom."""
    samples, window = step.history.offsets.get(topic), step.window
    if samples is None:
        return None
    return seldom_commits(samples, window.read_from, window.end, step.settings.cadence)


def _commits(step: AuditedStep, standing: Standing) -> Commits:
    if not standing.span.is_committed:
        return "NEVER"
    seldom = commits_of(step, standing.queue.topic)
    if seldom is None:
        return "STAND"
    return "SELDOM" if standing.span.seen_at - standing.span.start <= 2 * seldom.distance else "OVERDUE"


def _reads_on(step: AuditedStep, standing: Standing) -> bool | None:
    """Return whether clients pull messages behind the committed offset, in most samples, as brokers since 5.1 report: 0
    is no pull, if such a broker reports those of other queues.
    """
    samples, queue = step.history.offsets[standing.queue.topic], standing.queue
    pulls = samples.pull_offset[samples.inside(standing.start, standing.seen_at + 1)]
    of_broker = [column for (name, _), column in samples.columns.items() if name == queue.broker_name]
    known = pulls[(pulls[:, of_broker] > 0).any(axis=1), samples.columns[queue[1:]]]
    known = known[known != UNKNOWN]
    if len(known) < 2:
        return None
    pulled = known[known > 0]
    is_pulled = len(pulled) > _MOST * len(known)
    return bool(is_pulled and pulled[-1] > max(pulled[0], standing.span.offset))


def _sent_back(step: AuditedStep, time: Time) -> bool | None:
    """Return whether a queue of the group's retry topic got messages."""
    samples = step.history.offsets.get(RETRY + step.history.consumer_group)
    if samples is None:
        return None
    ends = samples.end_offset[samples.inside(time[0], time[1] + 1)]
    return bool((ends[-1] > ends[0]).any()) if len(ends) > 1 else None


def _with_client(step: AuditedStep, standing: Standing, client_id: str, facts: Facts) -> Facts:
    """The same with what is known of the owner."""
    language = standing.interval.languages.get(client_id)
    is_java = None if language is None else language == _JAVA
    known: dict[str, Any] = {"listed": _listed(step, standing, client_id), "java": is_java}
    client = step.history.clients.get(client_id)
    # The snapshot at which it begins to stand may show how it was before.
    begins = standing.start + step.settings.cadence // 2
    spans = (Span(max(span.start, begins), *span[1:]) for span in client_spans(step).get(client_id, ()))
    reports = [span for span in spans if span.start < min(span.end, standing.seen_at)]
    seen = client.series.inside(standing.start + 1, standing.seen_at + 1) if client else slice(0)
    if client is None or not reports or seen.start == seen.stop:
        return replace(facts, **known)
    reported = _reported(step, standing, client_id, seen, reports, by_hand=facts.by_hand)
    return replace(facts, **known, **reported)


def _reported(
    step: AuditedStep, standing: Standing, client_id: str, seen: slice, reports: _Reports, *, by_hand: bool
) -> dict[str, Any]:
    client = step.history.clients[client_id]
    states = client.series.at(seen)
    answers = [state for state in states if state.answered and state.in_group is not False]
    if len(answers) <= _MOST * len(states):
        ghosts = sum(state.in_group is False for state in states)
        is_ghost = ghosts > _MOST * (len(states) - len(answers))
        return {"process": "NOT_IN_GROUP" if is_ghost else "SILENT"}
    samples = process_queue(client, standing.queue, standing.start + 1, standing.seen_at + 1)
    # A consumer that pulls by hand has no process queues.
    reporting = sum(state.owned is not None and bool(state.owned or not by_hand) for state in answers)
    orderly = [state.consume_orderly for state in answers if state.consume_orderly is not None]
    is_orderly = sum(orderly) > _MOST * len(orderly) if orderly else None
    facts: dict[str, Any] = {
        "process": "ANSWERS",
        "holds": len(samples.times) > _MOST * reporting if reporting else None,
        "orderly": is_orderly,
        "lock": _lock(standing, reports, is_orderly) if len(samples.times) else None,
    }
    if not len(samples.times):
        return facts
    consumes = _consumes(samples)
    is_tried = is_orderly is True and bool(consumes.any())
    finishes = is_tried or finished(step, standing, client_id) is not None
    # Other clients renew the time with a lock.
    if standing.interval.languages.get(client_id) == _JAVA and is_orderly is False:
        facts |= {"reads_on": True} if consumes.sum() > _MOST * len(consumes) else {}
    return {
        **facts,
        "pulls": _pulls(step, standing, samples, reports),
        "in_hand": _in_hand(standing, samples.cached_count, reports),
        "oldest": _oldest(samples, standing.span.offset),
        "listener": _listener(standing, client, seen, samples, finishes=finishes),
    }


def _listed(step: AuditedStep, standing: Standing, client_id: str) -> bool | None:
    """Return whether the queue's broker has heartbeats of the owner in most of the time in which it answers; None: it
    never answers.
    """
    broker_name, time = standing.queue.broker_name, (standing.start, standing.end)
    answers = ((span.start, span.end) for span in step.memberships.get(broker_name, ()))
    lasting, listing = (
        sum(end - start for each in times for start, end in [common(time, each) or (0, 0)])
        for times in (answers, _heartbeats(step, broker_name).get(client_id, ()))
    )
    return listing > _MOST * lasting if lasting else None


@cached_with_value
def _heartbeats(step: AuditedStep, broker_name: str) -> Mapping[str, Sequence[Time]]:
    """By client id the times in which a broker lists it. Not the two minutes before the broker alone drops it: so old
    is the last heartbeat then.
    """
    times: dict[str, list[Time]] = defaultdict(list)
    for span in step.memberships.get(broker_name, ()):
        for client_id in set(span.state.client_ids):
            times[client_id].append((span.start, span.end))
    return {
        client_id: [
            (start, max(start, end - _EXPIRES) if _is_dropped(step, broker_name, client_id, end) else end)
            for start, end in joined(of_client)
        ]
        for client_id, of_client in times.items()
    }


def _is_dropped(step: AuditedStep, broker_name: str, client_id: str, at: int) -> bool:
    """Return whether the broker answers at that time without the client, and another one still lists it when all have
    been asked again.
    """
    return _lists(step, broker_name, client_id, at) is False and any(
        _lists(step, name, client_id, at + step.settings.cadence) for name in step.memberships
    )


def _lists(step: AuditedStep, broker_name: str, client_id: str, at: int) -> bool | None:
    """Return whether a broker lists the client at that time; None: it does not answer."""
    spans = (span for span in step.memberships.get(broker_name, ()) if span.start <= at < span.end)
    return next((client_id in span.state.client_ids for span in spans), None)


def _lock(standing: Standing, reports: _Reports, is_orderly: bool | None) -> Lock | None:
    if is_orderly is not True:
        return "NOT_NEEDED" if is_orderly is False else None
    queue = standing.queue
    lacks = _most_show(reports, lambda each: queue in each.unlocked or queue in each.expired)
    return "MISSING" if lacks else "FRESH"


def _most_show(reports: _Reports, shows: Callable[[ClientReport], bool]) -> bool:
    """Return whether reports show it in most of their time."""
    showing = sum(span.end - span.start for span in reports if shows(span.state))
    return showing > _MOST * sum(span.end - span.start for span in reports)


def _pulls(step: AuditedStep, standing: Standing, samples: ProcessQueue, reports: _Reports) -> Pulls | None:
    if (reports[-1].state.pull_interval_ms or 0) > step.settings.thresholds.pull_idle_seconds * 1000:
        return "SELDOM"
    pulled = samples.last_pull[samples.last_pull > 0]
    if not len(pulled):
        return None
    # A queue that is dropped and taken again begins with a fresh time.
    is_still = len(pulled) >= _PULLS and (np.diff(pulled) > 0).mean() < _FEW
    return "STOPPED" if is_still or standing.queue in reports[-1].state.stale else "CONTINUE"


def _in_hand(standing: Standing, cached_count: Matrix, reports: _Reports) -> InHand | None:
    def at_limit(report: ClientReport, cause: ThrottleCause, count: int | None = None) -> bool:
        reached = [each for each in report.throttled if each.queue == standing.queue and each.cause is cause]
        return any(count is None or each.cached_count == count for each in reached)

    if _most_show(reports, lambda each: at_limit(each, ThrottleCause.CACHED_SPAN)):
        return "SPAN_LIMIT"
    # A Java client counts sizes on their own, not those of the messages it has (`ProcessQueue.msgSize`).
    if _most_show(reports, lambda each: at_limit(each, ThrottleCause.CACHED_SIZE, 0)):
        return "MISCOUNTED"
    known = cached_count[cached_count != UNKNOWN]
    if not len(known):
        return None
    return "NOTHING" if (known == 0).mean() > _MOST else "SOME"


def _oldest(samples: ProcessQueue, offset: int) -> Oldest | None:
    """All snapshots but the first count, which may be older than the offset."""
    holding = (samples.cached_count > 0) & (samples.cached_min_offset != UNKNOWN)
    known = samples.cached_min_offset[1:][holding[1:]]
    if not len(known) or offset == UNKNOWN:
        return None
    return "COMMITTED" if (known == offset).mean() > _MOST else "ANOTHER"


def _listener(
    standing: Standing, client: ClientHistory, seen: slice, samples: ProcessQueue, *, finishes: bool
) -> Listener | None:
    statuses = [
        status
        for each in client.samples.statuses[seen]
        for status in each or ()
        if status.topic == standing.queue.topic
    ]
    failures = [status.consume_failed_tps or 0.0 for status in statuses]
    if failures and sum(rate > 0 for rate in failures) > _MOST * len(failures):
        return "FAILS"
    if finishes:
        return "FINISHES"
    call_ms = max((status.consume_rt_ms or 0.0 for status in statuses), default=0.0)
    if call_ms * MILLISECOND * 2 >= standing.seen_at - standing.start:
        return "SLOW"
    is_known = bool((samples.last_consume > 0).any())
    return "DOES_NOT_RETURN" if is_known else None
