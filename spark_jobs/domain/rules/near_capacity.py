"""NEAR_CAPACITY: a member consumes nearly as much as it can, or one of its queues receives nearly what it can take."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep, IntervalProgress
from spark_jobs.domain.kernel.consume_statuses import spans_of_snapshots
from spark_jobs.domain.model.finding import FindingQueue, RuleHit
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import WARN
from spark_jobs.domain.model.window import SECOND, Time, islands
from spark_jobs.domain.phrases import count, percent_text
from spark_jobs.domain.rules.queue_owners import queue_at
from spark_jobs.domain.rules.rule import CLIENT_SNAPSHOTS, Cause, Rule
from spark_jobs.domain.status.throughput import AS_SET, Changes, Throughput, throughputs
from spark_jobs.domain.status.utilization import Bottleneck, owners_of, queue_limit, read_rows

HOT = "HOT"
#: A pull is slow if it takes so many times as long as those of other members, and so many milliseconds.
_SLOW_TIMES, _SLOW_MS = 5, 50.0
#: Changes of which an advice names the best one.
_WHAT = {
    "with_twice_the_threads": "twice the consume threads",
    "with_more_members": "{members}",
    "with_twice_the_queues": "twice the queues",
    "with_half_the_response_time": "a listener that is twice as fast",
    "with_no_pull_interval": "a pull interval of 0",
}


#: A row of progress, and the start and end of the time in which its messages were produced.
_Row = tuple[IntervalProgress, int, int]


class MemberDemand(NamedTuple):
    """Messages a second that a member receives: in all, and into the queue (or, on average, each of the queues of the
    topic) that gets most. Of the topic of which it owns most queues: how many it `owned`, all `readable` ones, and the
    `members`, connections; 0: unknown.
    """

    received: float
    per_queue: float
    owned: int
    readable: int
    members: int

    @property
    def more_members(self) -> int | None:
        """How many more members make an even share one queue smaller than this member's; None: it owns one, or none, or
        shares are not known to be even.
        """
        if self.owned < 2 or not self.members:
            return None
        return max(-(-self.readable // (self.owned - 1)) - self.members, 1)

    def used(self, listener: float, queue: float) -> float:
        """The part of its limit that it reaches, if it can consume these messages a second, in all and of a queue."""
        return max(self.received / listener, self.per_queue / queue)


#: A member's `Throughput` with changed settings: messages a second of its listener, and of each of its queues.
RatesWith = Callable[[Changes], tuple[float, float]]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One hit per (member, time in which all its minutes were near its limit), with the measures of the worst minute in
    the step; and one per (interval, queue near the limit of its owner, whose queues of the topic were not on average).
    """
    reported = throughputs(step.history.clients, step.window.read_from, step.window.end)
    rows = list(read_rows(step.progress)) if reported else []
    for client_id, throughput in reported.items():
        for run in _runs(step, client_id, throughput):
            hit = _hit_of_run(step, client_id, throughput, run, rows)
            slow = _slow_pulls(reported, hit, rows) if hit.cause == Bottleneck.PULLS else None
            yield replace(hit, hint=" ".join(filter(None, (hit.hint, slow))))
    yield from _hot_queues(step, reported, rows)


def _runs(step: AuditedStep, client_id: str, throughput: Throughput) -> Iterator[list[Span[int]]]:
    """Runs of snapshots near the limit without a gap between them; the state of a span is the place of its minute."""
    loads, rates = throughput.loads, throughput.by_minute(AS_SET)
    used = np.maximum(loads.taken / rates.listener, loads.per_queue / rates.queue) * 100
    near = np.flatnonzero(used >= step.settings.thresholds.near_capacity_percent)
    if not len(near):  # as mostly
        return
    client = step.history.clients[client_id]
    snapshots = np.searchsorted(client.series.times, throughput.responses.times[near])
    shown = zip(snapshots.tolist(), near.tolist(), strict=True)
    yield from islands(spans_of_snapshots(client, shown, step.window, step.settings.max_gap))


def _hit_of_run(
    step: AuditedStep, client_id: str, throughput: Throughput, run: Sequence[Span[int]], rows: Sequence[_Row]
) -> RuleHit:
    rates = throughput.by_minute(AS_SET)
    by_listener, by_queue = throughput.loads.taken / rates.listener, throughput.loads.per_queue / rates.queue
    in_step = [span for span in run if span.end > step.window.start] or run
    worst = max(in_step, key=lambda span: (max(by_listener[span.state], by_queue[span.state]), span.start))
    place = worst.state

    def rates_with(changes: Changes) -> tuple[float, float]:
        by_minute = throughput.by_minute(changes)
        return float(by_minute.listener[place]), float(by_minute.queue[place])

    listener, per_queue = rates_with(AS_SET)
    limit = Bottleneck.LISTENER
    if by_queue[place] > by_listener[place]:
        limit = queue_limit(throughput, listener, per_queue, 1.0, 1.0)
    demand = _demand(step, client_id, max(worst.start, step.window.start), rows)
    at_least = throughput.loads.consumed if demand.received else throughput.loads.taken
    demand = demand._replace(
        received=max(demand.received, float(at_least[place])),
        per_queue=max(demand.per_queue, float(throughput.loads.per_queue[place])),
    )
    response_ms = float(throughput.responses.took_ms[place])
    return _hit(client_id, (run[0].start, run[-1].end), limit, demand, rates_with, response_ms)


def _slow_pulls(reported: Mapping[str, Throughput], hit: RuleHit, rows: Sequence[_Row]) -> str | None:
    """Sentences on pulls that take long. If several times as long as those of other members: on the only broker."""
    client_id = hit.client_id or ""
    during = ((each, throughput.between(hit.start, hit.end)) for each, throughput in reported.items())
    pull_ms = {each: throughput.pull_ms for each, throughput in during if throughput}
    own, usual = pull_ms.pop(client_id, 0.0), min(pull_ms.values(), default=np.inf)
    if own < _SLOW_MS:
        return None
    if own < _SLOW_TIMES * usual:
        return f"A pull takes {own:,.0f} ms: look at the way to the brokers (another region?), and at their disks."
    current = [row for row in rows if row[1] < hit.end and hit.start < row[2]]
    brokers = {row[0].queues[place][0] for row in current for place in _received(row, client_id)}
    broker = f" All its queues are of {brokers.pop()}: look at its disk, load and network." if len(brokers) == 1 else ""
    return f"A pull takes {own:,.0f} ms, of other members {usual:,.0f} ms.{broker}"


def _hot_queues(step: AuditedStep, reported: Mapping[str, Throughput], rows: Sequence[_Row]) -> Iterator[RuleHit]:
    part = step.settings.thresholds.near_capacity_percent / 100
    least = min((float(each.by_minute(AS_SET).queue.min()) for each in reported.values()), default=0.0) * part
    for row in rows:
        progress, start, end = row
        if not _is_long(step, progress) or progress.produced.max(initial=0) * SECOND < least * (end - start):
            continue
        for client_id, of_window in reported.items():
            throughput = of_window.between(progress.start, progress.end)
            received = _received(row, client_id)
            if throughput is None or not received:
                continue
            limit_rate, hottest = throughput.on_average()[1] * part, max(received.values())
            if hottest >= limit_rate > _average(received):
                demand = _demand(step, client_id, progress.start, rows)._replace(per_queue=hottest)
                queue = queue_at(progress, max(received, key=lambda place: received[place]), HOT)
                time, limit = (progress.start, progress.end), Bottleneck.HOT_QUEUE
                rates, response_ms = throughput.on_average, throughput.response_ms
                yield _hit(client_id, time, limit, demand, rates, response_ms, queue)


def _demand(step: AuditedStep, client_id: str, at: int, rows: Sequence[_Row]) -> MemberDemand:
    """The messages that a member receives at a time (microseconds), by the intervals that last long enough."""
    current = [row for row in rows if row[0].start <= at < row[0].end]
    topics = [(row[0], received) for row in current if (received := _received(row, client_id))]
    if not topics:
        return MemberDemand(0.0, 0.0, 0, 0, 0)
    lasting = [received for row, received in topics if _is_long(step, row)]
    most, owned = max(topics, key=lambda topic: len(topic[1]))
    interval = most.interval
    # Where a strategy leaves a member without queues, one more member may get none, too.
    is_even = interval.allocation is not None and all(interval.allocation.queues_per_member)
    return MemberDemand(
        received=sum(sum(received.values()) for received in lasting),
        per_queue=max(map(_average, lasting), default=0.0),
        owned=len(owned),
        readable=len(interval.queues or ()),
        members=len(interval.members or ()) if is_even else 0,
    )


def _is_long(step: AuditedStep, row: IntervalProgress) -> bool:
    return row.end - row.start >= step.settings.thresholds.near_capacity_seconds * SECOND


def _received(row: _Row, client_id: str) -> dict[int, float]:
    """Messages a second into each queue that a client owned in one interval, by place; empty: none is known."""
    progress, start, end = row
    owners = owners_of(progress)
    places = [place for place, ids in enumerate(owners.owner_ids) if client_id in ids] if owners else []
    produced, seconds = progress.produced.tolist(), (end - start) / SECOND
    return {place: max(produced[place], 0) / seconds for place in places}


def _average(received: Mapping[int, float]) -> float:
    return sum(received.values()) / len(received)


def _hit(
    client_id: str,
    time: Time,
    limit: Bottleneck,
    demand: MemberDemand,
    rates: RatesWith,
    response_ms: float,
    queue: FindingQueue | None = None,
) -> RuleHit:
    """The hit, with the `utilization` as measure, and by name the one that each change leaves; None: not possible.
    Twice the queues receive half of the messages each; with a queue less, the member receives that part less.
    """
    as_set, more = rates(AS_SET), demand.more_members
    fewer = demand._replace(received=demand.received * (demand.owned - 1) / demand.owned) if more else None
    measures = {
        "utilization": demand.used(*as_set),
        "with_twice_the_threads": demand.used(*rates(Changes(threads_times=2))),
        "with_more_members": fewer.used(*as_set) if fewer else None,
        "with_twice_the_queues": demand._replace(per_queue=demand.per_queue / 2).used(*as_set),
        "with_half_the_response_time": demand.used(*rates(Changes(response_ms=response_ms / 2))),
        "with_no_pull_interval": demand.used(*rates(Changes(pull_interval_ms=0))),
        "more_members": more,
    }
    return RuleHit(
        *(*time, limit, queue.topic if queue else None, client_id),
        queue=queue,
        implicated=client_id,
        weight=measures["utilization"],
        measures=measures,
        hint=best_change(measures),
    )


def best_change(measures: Mapping[str, float | None]) -> str:
    """A sentence that names the change with the least utilization, of equals the first."""
    now = measures["utilization"] or 0.0
    utilizations = {name: value for name in _WHAT if (value := measures[name]) is not None}
    best = min(utilizations, key=lambda name: utilizations[name])
    if percent_text(utilizations[best]) == percent_text(now):
        return "No single change of its threads, pulls, listener, queues or members would help."
    what = _WHAT[best].format(members=count(int(measures["more_members"] or 0), "more member"))
    least = percent_text(utilizations[best])
    return f"Of all single changes, {what} would help most: {least} instead of {percent_text(now)}."


RULE = Rule(
    name="NEAR_CAPACITY",
    ended="the load was lower again",
    headline="{subjects} in {groups} {subjects:consumes nearly as much as it|consume nearly as much as they} can",
    meaning="A member is near the limit of what it can consume. `with_…`: the utilization after each change. The "
    "advice names the best one.",
    decided_by="All client snapshots of `near_capacity_seconds` (300) show at least `near_capacity_percent` (80) of "
    "its [capacity](../what-if.md#the-model); also at full speed on a backlog. WARN.",
    causes={
        Bottleneck.LISTENER: Cause(
            "its threads are busy nearly all the time",
            "Give the client more consume threads (consumeThreadMin: consumeThreadMax alone adds none), or make the "
            "listener faster.",
        ),
        Bottleneck.PULLS: Cause(
            "pulls bring no more than it consumes",
            "Lower pullInterval if there is one, raise pullBatchSize (up to 32, the most that brokers return by "
            "default), or add queues.",
        ),
        Bottleneck.HOT_QUEUE: Cause(
            "only one queue receives nearly what its owner can consume",
            "A queue has one owner, so more consumers cannot help. Spread the keys over more queues.",
        ),
        Bottleneck.ORDERED_QUEUE: Cause(
            "an orderly consumer has one thread for each queue, and these are busy nearly all the time",
            "Each queue has its thread already, so more consume threads or consumers add none. Make the listener "
            "faster, raise consumeMessageBatchMaxSize if it gains by larger batches, or add queues.",
        ),
    },
    evaluate=hits,
    hit_severity=WARN,
    lasts="near_capacity_seconds",
    needs=(CLIENT_SNAPSHOTS,),
)
