"""The hits of a rule as conditions, and the duration, queues, severity and measures of a condition."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep
from spark_jobs.domain.model.finding import Counts, RuleHit
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Connection
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, StepWindow, islands
from spark_jobs.domain.rules.evidence import QueueSpan

Measures = list[tuple[str, float | None]]
#: Times of queues in a finding, at most, unless it has more queues: a group may rebalance all the time.
MOST_SPANS = 1000


def conditions(hits: Iterable[RuleHit], step: AuditedStep, *, per_broker: bool = False) -> Iterator[list[RuleHit]]:
    """The hits of each condition that lasts into the step: of one identity, in order, without a gap of progress."""

    def identity(hit: RuleHit) -> tuple[str | None, ...]:
        broker = hit.queue.broker_name if per_broker and hit.queue else None
        return hit.topic, hit.client_id, hit.cause, broker

    for same in by_key(hits, identity).values():
        parts = islands(sorted(same, key=lambda hit: (hit.start, hit.end)))
        yield from (each for each in _without_flicker(parts, step) if ended(each) > step.window.start)


def _without_flicker(parts: Iterable[list[RuleHit]], step: AuditedStep) -> Iterator[list[RuleHit]]:
    """The parts, joined where the queues stood between them: the last hits of one then last until the next."""
    condition: list[RuleHit] = []
    for part in parts:
        if condition and _stood(step, [*condition, *part], ended(condition), began(part)):
            last, until = ended(condition), began(part)
            condition = [replace(hit, end=until) if hit.end == last else hit for hit in condition] + part
        else:
            if condition:
                yield condition
            condition = part
    if condition:
        yield condition


def _stood(step: AuditedStep, hits: Sequence[RuleHit], start: int, end: int) -> bool:
    """Return whether hits of one client have a short gap (microseconds) in which messages waited untaken."""
    if hits[0].client_id is None or end - start > step.settings.thresholds.verdict_window_seconds * SECOND:
        return False
    waits = False
    queues = {hit.queue[:3] for hit in hits if hit.queue is not None}
    for topic, places in by_key(queues, lambda queue: queue[0]).items():
        samples = step.history.offsets.get(topic)
        columns = [samples.columns[queue[1:]] for queue in places if queue[1:] in samples.columns] if samples else []
        if samples and columns:
            between = samples.inside(start - step.settings.cadence, end + 1)
            consumed_to, lag = samples.consumed_to[between][:, columns], samples.lag[between][:, columns]
            if (consumed_to != consumed_to[:1]).any():
                return False
            waits |= bool((lag[-1:] > 0).any())
    return waits


def began(condition: Sequence[RuleHit]) -> int:
    """When the condition began, in microseconds; possibly before the step."""
    return condition[0].start


def ended(condition: Sequence[RuleHit]) -> int:
    """When the condition ended, in microseconds."""
    return max(hit.end for hit in condition)


def lasted_long_enough(condition: Sequence[RuleHit], thresholds: Thresholds) -> bool:
    """Return whether it lasted for its minimum duration or, without one, longer than a group takes to agree; if only
    single brokers show it, it must outlive the next heartbeats, too: until then a broker that came back lacks members.
    """
    seen_minimum: float | None = highest(hit.minimum_seen_seconds for hit in condition)
    if seen_minimum is not None:
        return was_seen_for(condition, seen_minimum)
    seconds = (ended(condition) - began(condition)) / SECOND
    minimum: float | None = highest(hit.minimum_seconds for hit in condition)
    if minimum is not None:
        return seconds >= minimum
    only_split = all(hit.view not in (None, ALL_HOSTS) for hit in condition)
    return seconds >= (thresholds.settled_seconds if only_split else thresholds.convergence_seconds)


def was_seen_for(condition: Sequence[RuleHit], seconds: float) -> bool:
    """Return whether a snapshot showed it so long after it began; a single snapshot shows no duration."""
    seen_at: int | None = highest(hit.seen_at for hit in condition)
    return seen_at is not None and (seen_at - began(condition)) / SECOND >= seconds


def queue_spans(condition: Sequence[RuleHit], window: StepWindow) -> list[QueueSpan]:
    """The maximal times in which each (queue, role) was hit, clipped to the step; if they are too many, one of each."""
    by_queue = by_key((hit for hit in condition if hit.end > window.start), lambda hit: hit.queue)
    whole = [(queue, sorted(hits, key=lambda hit: (hit.start, hit.end))) for queue, hits in by_queue.items() if queue]
    parts = [(queue, part) for queue, hits in whole for part in islands(hits)]
    shown = whole if len(parts) > max(MOST_SPANS, len(whole)) else parts
    return [QueueSpan(queue, max(began(hits), window.start), ended(hits)) for queue, hits in shown]


def highest(values: Iterable[Any]) -> Any:
    """The highest known value; None if none is known."""
    return max((value for value in values if value is not None), default=None)


def highest_counts(values: Iterable[Counts | None]) -> Counts | None:
    """The highest of each count; None if none are known."""
    known = [counts for counts in values if counts is not None]
    return Counts(*map(max, zip(*known, strict=True))) if known else None


def worst_severity(condition: Sequence[RuleHit]) -> str | None:
    """The worst severity of the hits; None: no hit has one."""
    return max((hit.severity for hit in condition if hit.severity is not None), key=SEVERITIES.index, default=None)


def connections(condition: Sequence[RuleHit]) -> tuple[Connection, ...]:
    """The different connections that the hits name, sorted by all their fields, unknown first."""
    named = {connection for hit in condition for connection in hit.connections}
    return tuple(sorted(named, key=lambda connection: [_unknown_first(value) for value in connection]))


def worst(condition: Sequence[RuleHit]) -> RuleHit:
    """The hit of the greatest weight, of equals the latest, of these the one with the greatest measures and values."""
    greatest = max((hit.weight or 0.0, hit.start) for hit in condition)
    heaviest = [hit for hit in condition if (hit.weight or 0.0, hit.start) == greatest]
    return max(heaviest, key=_by_numbers) if len(heaviest) > 1 else heaviest[0]


def _by_numbers(hit: RuleHit) -> tuple[Any, ...]:
    measures, values = measures_of(hit), hit.conflicting_values
    measure_keys = None if measures is None else [(name, _unknown_first(value)) for name, value in measures]
    value_keys = None if values is None else [(value.name, _unknown_first(value.client_ids)) for value in values]
    return _unknown_first(measure_keys), _unknown_first(value_keys)


def _unknown_first(value: Any) -> tuple[Any, ...]:
    """A sort key that puts None before all other values."""
    return () if value is None else (value,)


def measures_of(hit: RuleHit) -> Measures | None:
    """The measures of a hit, in the order of their names."""
    if hit.measures is None:
        return None
    return [(name, None if value is None else float(value)) for name, value in sorted(hit.measures.items())]
