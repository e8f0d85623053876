"""SLOW_LISTENER: a client's messages need more threads than it has, or longer than before."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from spark_jobs.domain.diagnosis.scaling import departures, who_left, without_effect
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import busy_spans, seen_twice
from spark_jobs.domain.kernel.consume_statuses import ResponseTimes, rows_in, rows_of, slowed_listeners, status_samples
from spark_jobs.domain.model.clients import BusyClient
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.history import RETRY, ClientHistory
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.window import MINUTE, SECOND, Time, common, islands, second_text
from spark_jobs.domain.phrases import count, names_text, percent_text
from spark_jobs.domain.rules.commands import THREAD_DUMP
from spark_jobs.domain.rules.queue_owners import owned_queues
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule
from spark_jobs.domain.rules.standing import BEHIND
from spark_jobs.domain.status.attribution import pace
from spark_jobs.domain.status.lagging_queues import counted, greatest_rise, moments

_SEVERAL, _NEARLY_ALL = 2, 0.8
#: So many times what came before is much more, and so large a part of it is nearly all.
_MORE, _OF_ONE_BROKER = 1.5, 0.9
#: Producers leave a broker if its share of the messages falls by so much, for one that had some before.
_MOVED, _SOME = 0.2, 0.1
#: `DefaultMQPushConsumer.popInvisibleTime`.
_INVISIBLE_MS = 60_000
ALL_THREADS_BUSY = "ALL_THREADS_BUSY"
RESPONSE_TIME_ROSE = "RESPONSE_TIME_ROSE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (client, span in which nearly all its threads were busy), and per queue in which messages wait then,
    one condition per client; and one per (client, topic, snapshot at which its listener was slower than usual), one
    condition per client and topic, unless that is reported as busy threads meanwhile.
    """
    does_not_scale, more_came = cache(lambda: _does_not_scale(step)), cache(lambda time: _more_came(step, time))
    for client_id, spans in busy_spans(step).items():
        runs = islands(spans, step.settings.max_gap)
        together = [(each, (run[0].start, run[-1].end)) for run in runs for each in run]
        for busy_span, busy_time in together:
            weight = busy_span.state.busy_threads / busy_span.state.consume_threads
            hit = _hit(client_id, None, ALL_THREADS_BUSY, busy_span, weight)
            hints = (
                _is_popped_again(step, busy_span),
                _has_fewer_threads(step, client_id, busy_span),
                _had_more_threads(step, busy_span),
                _starves(step.history.clients[client_id], busy_span.time),
                _became_slower(step, step.history.clients[client_id], busy_span) or more_came(busy_time),
                _when_members_leave(step, spans, busy_span),
                does_not_scale(),
            )
            only_here = _others_are_faster(step, client_id, busy_span.time)
            hit = replace(hit, explanation=only_here, hint=" ".join(filter(None, hints)) or None)
            yield hit
            yield from _lagging_hits(step, client_id, hit)
    for client_id, client in step.history.clients.items():
        for topic, slowed in slowed_listeners(client, step.window, step.settings):
            for run in islands(seen_twice(slowed)):
                if not _is_busy(step, client_id, (run[0].start, run[-1].end)):
                    time, hint = (run[0].start, run[-1].end), _rose(step, client_id, topic, run)
                    only_here = _others_are_faster(step, client_id, time)
                    for span in run:
                        hit = _hit(client_id, topic, RESPONSE_TIME_ROSE, span, span.state.consume_rt_ms)
                        yield replace(hit, explanation=only_here, hint=hint)


def _is_busy(step: AuditedStep, client_id: str, time: Time) -> bool:
    """Return whether all threads of the client are busy at some moment of a time (microseconds), and for long enough to
    be reported as that in the step.
    """
    minimum = step.settings.thresholds.busy_after_seconds * SECOND
    runs = [(run[0].start, run[-1].end) for run in islands(busy_spans(step).get(client_id, ()))]
    reported = (run for run in runs if run[1] - run[0] >= minimum and run[1] > step.window.start)
    return any(common(run, time) for run in reported)


def _lagging_hits(step: AuditedStep, client_id: str, hit: RuleHit) -> Iterator[RuleHit]:
    """The hit of a client for each queue that it owns or pops meanwhile, if more than the allowed lag waits there."""
    for interval in step.intervals:
        start, end = max(hit.start, interval.start), min(hit.end, interval.end)
        samples = step.history.offsets.get(interval.topic)
        if samples is None or not interval.is_ordinary or start >= end:
            continue
        rows, own = samples.inside(start, end), owned_queues(interval, client_id, BEHIND)
        if interval.is_shared_out and client_id in interval.client_ids:
            own = [FindingQueue(interval.topic, *place, BEHIND) for place in interval.queues or ()]
        for queue in (each for each in own if each[1:3] in samples.columns):
            lag = samples.lag[rows, samples.columns[queue[1:3]]]
            if (lag > step.settings.thresholds.allowed_lag).any():
                yield replace(hit, start=start, end=end, queue=queue)


def _is_popped_again(step: AuditedStep, span: Span[BusyClient]) -> str | None:
    """A sentence, if members pop, and a call takes longer than messages are invisible by default."""
    took_ms = span.state.consume_rt_ms or 0
    popping = (each for each in step.intervals if each.is_shared_out or each.has_popping_members)
    if took_ms <= _INVISIBLE_MS or not any(common(span.time, (each.start, each.end)) for each in popping):
        return None
    return (
        f"A call takes {took_ms / 1000:,.0f} s, and a message that is not acknowledged in its invisible time (60 s by "
        "default) comes again: make that longer (setPopInvisibleTime)."
    )


def _has_fewer_threads(step: AuditedStep, client_id: str, span: Span[BusyClient]) -> str | None:
    """A sentence, if each of the other clients last reported at least twice as many consume threads."""
    own, thread_counts = span.state.consume_threads, list[int]()
    for series in (client.series for other, client in step.history.clients.items() if other != client_id):
        reported = (state.consume_threads for state in series.at(series.inside(*span.time)))
        thread_counts += [*filter(None, reported)][-1:]
    least = min(thread_counts, default=0)
    return f"It has {count(own, 'consume thread')}, other members have {least:,} or more." if least >= 2 * own else None


def _had_more_threads(step: AuditedStep, span: Span[BusyClient]) -> str | None:
    """A sentence, if all clients reported at least twice as many consume threads before, and none does since."""

    def reported(start: int, end: int) -> list[tuple[int, int]]:
        runs = (run for client in step.history.clients.values() for run in client.series.runs(start, end))
        return [(run.state.consume_threads, run.seen_at) for run in runs if run.state.consume_threads]

    before, since = reported(step.window.read_from, span.start), reported(span.start, span.end)
    least = min((threads for threads, _ in before), default=0)
    most = max((threads for threads, _ in since), default=0)
    if not 0 < 2 * most <= least:
        return None
    until = second_text(max(seen_at for _, seen_at in before))
    return f"Members had {count(least, 'consume thread')} or more until {until}, and have {most:,} at most since."


def _others_are_faster(step: AuditedStep, client_id: str, time: Time) -> str | None:
    """A sentence, if the listeners of all other members are much faster with the topic that takes most threads."""
    samples, rows = status_samples(step.history.clients[client_id]), rows_in(step.history.clients[client_id], *time)
    if not rows.size:
        return None
    topic = samples.topics[samples.topic[rows[np.nan_to_num(samples.message_ms[rows]).argmax()]]]
    took = {each: _message_ms(client, topic, time) for each, client in step.history.clients.items()}
    own, thresholds = took.pop(client_id), step.settings.thresholds
    most = max((ms for ms in took.values() if ms is not None), default=None)
    if own is None or most is None or own < max(thresholds.rt_rise_ratio * most, thresholds.slow_rt_ms):
        return None
    return (
        f"A message of {topic} takes {own:,.0f} ms here, and {most:,.0f} ms at most at the other members: look "
        "at what is different at this one (its host, its connections to databases and services), or restart it."
    )


def _message_ms(client: ClientHistory, topic: str, time: Time) -> float | None:
    """The median of what a message of the topic took a client in a time, in ms; None: it consumed none."""
    samples, rows = status_samples(client), rows_of(client, topic, *time)
    took = samples.message_ms[rows][samples.consumed_tps[rows] > 0]
    return float(np.median(took)) if took.size else None


def _rose(step: AuditedStep, client_id: str, topic: str, run: Sequence[Span[ResponseTimes]]) -> str:
    """Sentences: how far the response time rose, and which topics wait for the same threads, if messages of any do."""
    time = run[0].start, run[-1].end
    most = max(run, key=lambda span: span.state.consume_rt_ms).state
    rose = (
        f"A call for {topic} took {most.usual_consume_rt_ms:,.0f} ms, and takes up to {most.consume_rt_ms:,.0f} ms "
        f"since {second_text(time[0])}."
    )
    waiting = (
        (samples.lag[samples.inside(*time)] > step.settings.thresholds.allowed_lag).any()
        for name, samples in step.history.offsets.items()
        if name != topic and not name.startswith(RETRY)
    )
    starves = _starves(step.history.clients[client_id], time) if any(waiting) else None
    return " ".join(filter(None, (rose, starves)))


def _starves(client: ClientHistory, time: Time) -> str | None:
    """A sentence on the topic that keeps nearly all busy threads, which other topics of the client share."""
    samples, rows = status_samples(client), rows_in(client, *time)
    rate = np.nan_to_num(np.maximum(samples.consumed_tps, samples.pull_tps)[rows])
    threads = np.nan_to_num(samples.message_ms[rows]) * rate
    of_topic, rate_of = (np.bincount(samples.topic[rows], each, len(samples.topics)) for each in (threads, rate))
    sharing = [
        name for name, comes in zip(samples.topics, rate_of, strict=True) if comes and not name.startswith(RETRY)
    ]
    number = int(of_topic.argmax())
    busiest = samples.topics[number]
    if busiest not in sharing or len(sharing) == 1 or of_topic[number] < _NEARLY_ALL * of_topic.sum():
        return None
    sharing.remove(busiest)
    percent, one_ms = 100 * of_topic[number] / of_topic.sum(), of_topic[number] / rate_of[number]
    return (
        f"{busiest} takes {percent:.0f} % of the threads' time, {one_ms:,.0f} ms a message. {names_text(sharing, 3)} "
        "must wait for the same threads: give each topic a separate group."
    )


def _became_slower(step: AuditedStep, client: ClientHistory, span: Span[BusyClient]) -> str | None:
    """A sentence, if a message of the topic that takes most threads took much longer than at the step's beginning."""
    samples, thresholds, times = status_samples(client), step.settings.thresholds, client.series.times
    rows = rows_in(client, step.window.start, span.end)
    rows = rows[samples.consumed_tps[rows] > 0]
    if not rows.size:
        return None
    now = rows[samples.snapshot[rows] == samples.snapshot[rows[-1]]]
    busiest = now[(samples.message_ms[now] * samples.consumed_tps[now]).argmax()]
    of_topic = rows[samples.topic[rows] == samples.topic[busiest]]
    # It may be fast again, and its threads be busy with what had piled up.
    first, last = of_topic[0], of_topic[samples.message_ms[of_topic].argmax()]
    before, after = samples.message_ms[first], samples.message_ms[last]
    if not after >= max(before * thresholds.rt_rise_ratio, thresholds.slow_rt_ms):
        return None
    at, until = (second_text(int(times[samples.snapshot[row]])) for row in (first, last))
    topic = samples.topics[samples.topic[last]]
    return (
        f"A message of {topic} took {before:,.0f} ms at {at}, and {after:,.0f} ms at {until}: look at what the "
        "listener calls (database, other services)."
    )


def _more_came(step: AuditedStep, run: Time) -> str | None:
    """A sentence, if much more came while the threads were busy than before, which is known of so long a time as a
    verdict needs. Clients report what they consumed in the minute before.
    """
    start, end = step.window.observed_from, run[0] - MINUTE
    if end - start < step.settings.thresholds.verdict_window_seconds * SECOND:
        return None
    ordinary = [topic for topic in step.history.offsets if not topic.startswith(RETRY)]
    usual = _pace_of_brokers(step, ordinary, start, end)
    before = sum(usual.values())
    at = moments(step, ordinary)
    at = at[(at >= end) & (at < run[1])]
    produced = counted(step, ordinary, "produced", at)
    if len(at) < _SEVERAL or not before:
        return None
    bottom, top = greatest_rise(produced - np.rint(before * (at - at[0]) / SECOND).astype(np.int64))
    lasting = float(at[top] - at[bottom]) / SECOND
    if top == bottom or float(produced[top] - produced[bottom]) < _MORE * before * lasting:
        quiet_until = min(span.start for spans in busy_spans(step).values() for span in spans) - MINUTE
        shared = [topic for topic in ordinary if len({broker for broker, _ in step.history.offsets[topic].queues}) > 1]
        times = (start, quiet_until), (end, run[1])
        return _came_elsewhere(*(_pace_of_brokers(step, shared, *time) for time in times))
    since = float(produced[top] - produced[bottom]) / lasting
    first, last = (second_text(int(at[place])) for place in (bottom, top))
    sentence = f"From {first} to {last} {since:,.1f} messages/s came, before {before:,.1f}."
    if top == len(at) - 1:
        sentence = f"Since {first} {since:,.1f} messages/s came, before {before:,.1f}."
    risen = _pace_of_brokers(step, ordinary, int(at[bottom]), int(at[top]) + 1)
    broker = max(risen, key=risen.__getitem__, default="")
    if risen[broker] <= _OF_ONE_BROKER * sum(risen.values()) or usual[broker] >= _OF_ONE_BROKER * before:
        return sentence
    return f"{sentence} Nearly all of them are at {broker}: look at who sends there, or whether it delivers them again."


def _came_elsewhere(usual: Mapping[str, float], since: Mapping[str, float]) -> str | None:
    """A sentence, if producers left one broker for another, to which some came before, too (messages a second)."""
    if usual.keys() != since.keys() or not sum(usual.values()) or not sum(since.values()):
        return None
    before, after = ({broker: rates[broker] / sum(rates.values()) for broker in usual} for rates in (usual, since))
    left, to = (chosen(usual, key=lambda broker: after[broker] - before[broker]) for chosen in (min, max))
    if min(after[to] - before[to], before[left] - after[left]) < _MOVED or before[to] < _SOME:
        return None
    now, then = percent_text(after[to]), percent_text(before[to])
    return f"Meanwhile {now} of the messages came to {to}, {then} before: producers left {left}, so look at {left}."


def _pace_of_brokers(step: AuditedStep, topics: Iterable[str], start: int, end: int) -> dict[str, float]:
    """By broker the messages produced a second to the topics in a time (microseconds)."""
    paces = defaultdict[str, float](float)
    for topic in topics:
        for (broker, _), of_queue in pace(step.history.offsets[topic], start, end).items():
            paces[broker] += of_queue
    return paces


def _when_members_leave(step: AuditedStep, spans: Iterable[Span[BusyClient]], last: Span[BusyClient]) -> str | None:
    """A sentence, if threads became busy because members had left: several times, or without coming back until the end
    of the `last` span. Clients report what they consumed in the minute before.
    """
    within = MINUTE + step.settings.cadence
    before = ([at for at in departures(step) if 0 <= span.start - at <= within] for span in spans)
    times = [before_one[-1] for before_one in before if before_one]
    if len(times) < _SEVERAL:
        return who_left(step, last.start, last.end)
    return (
        f"It began {len(times):,} times after members had left, last at {second_text(times[-1])}: those that stay are "
        "too few. If an autoscaler removes them, let it keep more, or wait longer before it removes any."
    )


def _does_not_scale(step: AuditedStep) -> str | None:
    """A sentence, if other numbers of members consumed the same of a topic."""
    for topic in sorted({row.interval.topic for row in step.progress if row.interval.is_ordinary}):
        if paces := without_effect(step, topic):
            before, after = paces
            return (
                f"Since {second_text(after.start)} {count(after.members, 'member')} consumed {after.rate:,.0f} "
                f"messages/s of {topic}, {before.members:,} before {before.rate:,.0f}: what the listener calls is "
                "the limit."
            )
    return None


def _hit(
    client_id: str, topic: str | None, cause: str, span: Span[BusyClient] | Span[ResponseTimes], weight: float
) -> RuleHit:
    subject, measures = (topic, client_id), span.state._asdict()
    return RuleHit(span.start, span.end, cause, *subject, implicated=client_id, weight=weight, measures=measures)


RULE = Rule(
    name="SLOW_LISTENER",
    ended="the listeners kept up again",
    headline="{subjects} in {groups} {subjects:has|have} a slow listener",
    meaning="The listener, or a service that it calls, keeps all threads of a client busy. Or it became slower: "
    "`usual_…` are the response times before. `busy_threads`: at least so many are busy.",
    decided_by="Two successive client snapshots show it for `busy_after_seconds` (120), also at full speed on a "
    "backlog. WARN.",
    causes={
        ALL_THREADS_BUSY: Cause(
            "at least `busy_percent` (90) of its threads are busy: response time × rate ÷ the most messages of a call "
            "(`consume_batch_size`; unknown: 1)",
            "Make the listener faster, or give the client more consume threads: raise consumeThreadMin, and "
            "consumeThreadMax if it is less. consumeThreadMax alone adds none (RocketMQ issue #5290). "
            "`status` answers whether more consumers would have helped.",
            headline="All consume threads of {subjects} in {groups} are busy",
            commands=(THREAD_DUMP,),
        ),
        RESPONSE_TIME_ROSE: Cause(
            "the consume RT, but not the pull RT, is at least `slow_rt_ms` (100) and `rt_rise_ratio` (3.0) times its "
            "median in the look-back (without one, in the step's first five minutes), also per message if calls had "
            "one before and are full now (`consume_batch_size`)",
            "The brokers answer as fast as before: check what the listener calls (database, other services), and "
            "recent deployments. More threads help only if those services can handle more calls.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="busy_after_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
