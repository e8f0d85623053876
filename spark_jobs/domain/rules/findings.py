"""From the hits of rules to the findings of a step: one condition is one finding over its whole duration inside it.
Findings that are symptoms name their root cause, by the `follows` of their rules.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import Condition, Evidence, Finding, Measured, Persistence, QueueEvidence, RuleHit
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.message_queue import broker_ranges
from spark_jobs.domain.model.silences import silence_reason
from spark_jobs.domain.model.window import SECOND, from_micros
from spark_jobs.domain.rules import conditions as of
from spark_jobs.domain.rules.evidence import queue_evidence
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
        for hits in of.conditions(_until_deleted(rule_hits, step), step, per_broker=rule.per_broker)
        if of.lasted_long_enough(hits, step.settings.thresholds)
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
    first, worst, began, group = hits[0], of.worst(hits), of.began(hits), step.history.consumer_group
    start = max(began, step.window.start)
    spans = of.queue_spans(hits, step.window)
    queues, measured = queue_evidence(step.history, first.cause, spans, step.unread, step.window)
    condition = Condition(
        client_id=first.client_id,
        cause=first.cause,
        connections=of.connections(hits),
        is_persistent=of.was_seen_for(hits, step.settings.thresholds.persistent_after_seconds),
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
        severity=of.worst_severity(hits) or rule.severity(condition),
        topic=first.topic,
        subject=next(name for name in (first.client_id, ranges, first.topic, group) if name is not None),
        started_at=start,
        ended_at=of.ended(hits),
        cause=condition.cause,
        evidence=_evidence(rule, condition, hits, worst, queues, measured),
        advice=_advice(rule, condition.cause, worst),
        silenced_because=silence_reason(step.settings.silences, rule.name, start),
        active_since=began,
        client_id=first.client_id,
    )


def _finding_id(rule: Rule, history: GroupHistory, first: RuleHit, start: int) -> str:
    """A stable id: a hash of the condition's identity, and of where it begins inside the step."""
    broker = [first.queue.broker_name] if rule.per_broker and first.queue else []
    names = (rule.name, history.cluster, history.consumer_group, first.topic, first.client_id, first.cause, *broker)
    begins = from_micros(start).replace(tzinfo=None).isoformat(timespec="microseconds")
    text = "\n".join([*(name or "" for name in names), begins])
    return sha256(text.encode()).hexdigest()[:16]


def _advice(rule: Rule, cause: str | None, worst: RuleHit) -> str:
    """The advice of the cause, between the worst hit's explanation and hint. `KeyError`: the rule lacks the cause."""
    if cause is None:
        raise KeyError(f"{rule.name} gave no cause")
    return " ".join(filter(None, (worst.explanation, rule.causes[cause].advice, worst.hint)))


def _evidence(
    rule: Rule,
    condition: Condition,
    hits: Sequence[RuleHit],
    worst: RuleHit,
    queues: list[QueueEvidence],
    measured: Measured,
) -> Evidence:
    persistence = Persistence.PERSISTENT if condition.is_persistent else Persistence.TRANSIENT
    return Evidence(
        persistence=persistence if rule.shows_persistence else None,
        connections=list(condition.connections) or None,
        client_ids=sorted({hit.implicated for hit in hits if hit.implicated is not None}),
        member_count=of.highest(hit.member_count for hit in hits),
        queue_count=of.highest(hit.queue_count for hit in hits),
        queues=queues,
        **measured._asdict(),
        unknown_queues=[*{evidence[:4]: evidence.backlog_end for evidence in queues}.values()].count(None)
        if queues
        else None,
        if_deduplicated=of.highest_counts(hit.if_deduplicated for hit in hits),
        if_unique=of.highest_counts(hit.if_unique for hit in hits),
        measures=of.measures_of(worst),
        conflicting_values=None if worst.conflicting_values is None else list(worst.conflicting_values),
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
        if index and (link.causes is None or finding.cause in link.causes):
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
