"""From the hits of rules to the findings of a step: one condition is one finding over its whole duration inside it.
Findings that are symptoms name their root cause, by the `follows` of their rules.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from typing import Any

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep
from spark_jobs.domain.model.finding import (
    Condition,
    Counts,
    Evidence,
    Finding,
    Measured,
    Persistence,
    QueueEvidence,
    RuleHit,
)
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Connection, GroupHistory
from spark_jobs.domain.model.message_queue import broker_ranges
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.silences import silence_reason
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, StepWindow, from_micros, islands
from spark_jobs.domain.rules.evidence import QueueSpan, queue_evidence
from spark_jobs.domain.rules.links import LINKS, Follows
from spark_jobs.domain.rules.rule import Rule

#: A symptom may be seen before its cause: by another source, or over another window. What began longer before is none.
LEAD = 600 * SECOND
#: Findings by what they share with their symptoms, in the order in which a root is chosen.
_Index = Mapping[Hashable, Sequence[Finding]]


def findings(step: AuditedStep, rules: Iterable[Rule]) -> list[Finding]:
    """The findings of all rules in a step of a group: one per condition that held in the step, and long enough."""
    step_findings = [
        _finding(step, rule, hits)
        for rule in rules
        if (rule_hits := rule.hits(step))  # mostly there is none
        for hits in conditions(_until_deleted(rule_hits, step), step, per_broker=rule.per_broker)
        if lasted_long_enough(hits, step.settings.thresholds)
    ]
    return with_roots(step_findings)


def _until_deleted(hits: Iterable[RuleHit], step: AuditedStep) -> Iterator[RuleHit]:
    """The hits, each until its group or its topic is deleted: nothing is said of what is deleted."""
    for hit in hits:
        topic = hit.queue.topic if hit.topic is None and hit.queue else hit.topic
        deleted = chain(step.deleted, step.deleted_topics.get(topic or "", ()))
        end = min([hit.end, *(since for since, until in deleted if since < hit.end and until > hit.start)])
        if hit.start < end:
            yield replace(hit, end=end) if end < hit.end else hit


def _finding(step: AuditedStep, rule: Rule, hits: Sequence[RuleHit]) -> Finding:
    """The finding of one condition."""
    first, group = hits[0], step.history.consumer_group
    start = max(began(hits), step.window.start)
    spans = queue_spans(hits, step.window)
    queues, measured = queue_evidence(step.history, first.cause, spans, step.unread, step.window)
    condition = Condition(
        client_id=first.client_id,
        cause=first.cause,
        connections=connections(hits),
        is_persistent=was_seen_for(hits, step.settings.thresholds.persistent_after_seconds),
        produced=measured.produced,
        backlog_max=measured.backlog_max,
        is_assumed=all(hit.is_assumed for hit in hits),
    )
    if rule.probable_cause:
        condition = condition._replace(cause=rule.probable_cause(condition))
    ranges = ", ".join(broker_ranges(sorted({queue[1:3] for queue in queues}))) or None
    return Finding(
        finding_id=_finding_id(rule, step.history, first, start),
        rule=rule.name,
        severity=worst_severity(hits) or rule.severity(condition),
        topic=first.topic,
        subject=next(name for name in (first.client_id, ranges, first.topic, group) if name is not None),
        started_at=start,
        ended_at=ended(hits),
        cause=condition.cause,
        evidence=_evidence(rule, condition, hits, queues, measured),
        advice=_advice(rule, condition.cause, worst(hits)),
        silenced_because=silence_reason(step.settings.silences, rule.name, start),
        active_since=began(hits),
        client_id=first.client_id,
    )


def _finding_id(rule: Rule, history: GroupHistory, first: RuleHit, start: int) -> str:
    """A stable id: a hash of the condition's identity, and of where it begins inside the step."""
    broker = [first.queue.broker_name] if rule.per_broker and first.queue else []
    names = (rule.name, history.cluster, history.consumer_group, first.topic, first.client_id, first.cause, *broker)
    begins = from_micros(start).replace(tzinfo=None).isoformat(timespec="microseconds")
    text = "\n".join([*(name or "" for name in names), begins])
    return sha256(text.encode()).hexdigest()[:16]


def _advice(rule: Rule, cause: str | None, shown: RuleHit) -> str:
    """The advice of the cause, between the worst hit's explanation and hint. `KeyError`: the rule lacks the cause."""
    if cause is None:
        raise KeyError(f"{rule.name} gave no cause")
    return " ".join(filter(None, (shown.explanation, rule.causes[cause].advice, shown.hint)))


def _evidence(
    rule: Rule,
    condition: Condition,
    hits: Sequence[RuleHit],
    queues: list[QueueEvidence],
    measured: Measured,
) -> Evidence:
    persistence, shown = Persistence.PERSISTENT if condition.is_persistent else Persistence.TRANSIENT, worst(hits)
    return Evidence(
        persistence=persistence if rule.shows_persistence else None,
        connections=list(condition.connections) or None,
        client_ids=sorted({hit.implicated for hit in hits if hit.implicated is not None}),
        member_count=highest(hit.member_count for hit in hits),
        queue_count=highest(hit.queue_count for hit in hits),
        queues=queues,
        **measured._asdict(),
        unknown_queues=[*{evidence[:4]: evidence.backlog_end for evidence in queues}.values()].count(None)
        if queues
        else None,
        if_deduplicated=highest_counts(hit.if_deduplicated for hit in hits),
        if_unique=highest_counts(hit.if_unique for hit in hits),
        measures=measures_of(shown),
        conflicting_values=None if shown.conflicting_values is None else list(shown.conflicting_values),
    )


def with_roots(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of one step of one group, in their order, each with the id of its root cause, if any. Of several,
    that of the first `Follows` counts, then one at the same time, then the earliest. All symptoms of one cause name one
    finding. The rules' links have no cycle.
    """
    if len(findings) < 2:
        return list(findings)
    links = {link for name in {finding.rule for finding in findings} for link in LINKS.get(name, ())}
    indexes = {link: _index(findings, link) for link in links}
    causes = {finding.finding_id: _cause_of(finding, LINKS.get(finding.rule, ()), indexes) for finding in findings}
    return [finding._replace(root_finding_id=_root(finding.finding_id, causes)) for finding in findings]


def _index(findings: Iterable[Finding], link: Follows) -> _Index:
    roots_of_share: dict[Hashable, list[Finding]] = defaultdict(list)
    for root in sorted(filter(link.is_root, findings), key=_by_start):
        for share in link.shares(root):
            roots_of_share[share].append(root)
    return roots_of_share


def _cause_of(finding: Finding, links: Iterable[Follows], indexes: Mapping[Follows, _Index]) -> str | None:
    """The id of the finding that caused this one, which may be a symptom itself."""
    for link in links:
        index = indexes[link]
        if index and link.may_follow(finding.cause):
            shared = (root for share in link.shares(finding) for root in index.get(share, ()))
            in_time = (root for root in shared if is_in_time(finding, root, link.within))
            cause = min(in_time, key=lambda root: (root.ended_at <= finding.started_at, *_by_start(root)), default=None)
            if cause is not None:
                return cause.finding_id
    return None


def _by_start(finding: Finding) -> tuple[int, str]:
    return finding.started_at, finding.finding_id


def is_in_time(finding: Finding, root: Finding, within: int = 0) -> bool:
    """Return whether they overlap, it ends where the root begins, or begins `within` the root's end; and at most `LEAD`
    before the root.
    """
    return (
        root.started_at <= finding.ended_at
        and finding.started_at < root.ended_at + within
        and root.started_at <= finding.started_at + LEAD
    )


def _root(finding_id: str, causes: Mapping[str, str | None]) -> str | None:
    root = causes[finding_id]
    while root is not None and causes[root] is not None:
        root = causes[root]
    return root


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
