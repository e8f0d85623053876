"""The fields of an incident, computed from the findings of its roots and consequences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256

from spark_jobs.domain.incidents.thread import Thread, worst_of
from spark_jobs.domain.incidents.values import NEVER, GroupCost, Incident, IncidentPart, Queue
from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.message_queue import queues_by_topic
from spark_jobs.domain.model.severities import SEVERITIES
from spark_jobs.domain.model.window import SECOND, covered, from_micros
from spark_jobs.domain.phrases import count, joined_names, known_sum
from spark_jobs.domain.rules.broker_not_readable import LAST_KNOWN
from spark_jobs.domain.rules.commands import filled
from spark_jobs.domain.rules.evidence import NEVER_COMMITTED, highest_backlog
from spark_jobs.domain.rules.queue_owners import UNASSIGNED
from spark_jobs.domain.rules.refused import REFUSED
from spark_jobs.domain.rules.rule import Rule

#: Names in a sentence, at most.
_NAMED = 3
_MINUTE = 60 * SECOND


def incident(roots: Sequence[Thread], consequences: Sequence[Thread], rules: Mapping[str, Rule]) -> Incident:
    """The incident of one event; threads in the order of time."""
    threads = [*roots, *consequences]
    first_root = roots[0]
    rule = rules[first_root.identity.rule]
    worst = worst_of(thread.worst for thread in roots)
    worst_root = next(thread for thread in roots if thread.worst is worst)
    lasting = [*roots, *_lasting(roots, consequences)]
    until, resolution = max((thread.until, thread.resolution) for thread in lasting)
    groups = tuple(sorted({thread.identity.consumer_group for thread in threads}))
    piled_up, unowned = _piled_up(threads), _unowned(threads)
    templates = rules[worst_root.identity.rule].commands_of(worst.cause)
    topics, queues, members = _topics(threads), _queues(threads), _members(roots)
    return Incident(
        incident_id=_incident_id(first_root, rule),
        cluster=first_root.identity.cluster,
        rule=rule.name,
        cause=worst.cause,
        causes=tuple(dict.fromkeys(cause for thread in roots for cause in thread.causes)),
        severity=max((thread.worst.severity for thread in threads), key=SEVERITIES.index),
        headline=_headline(rule, roots, worst_root.part(rule)),
        opened_at=first_root.start,
        resolved_at=None if until == NEVER else until,
        last_seen_at=max(thread.end for thread in lasting),
        groups=groups,
        topics=topics,
        queues=queues,
        members=members,
        piled_up=known_sum(piled_up.values()),
        unowned_queue_minutes=sum(unowned.values()) / _MINUTE,
        advice=worst.advice,
        roots=tuple(thread.part(rules[thread.identity.rule]) for thread in roots),
        consequences=tuple(thread.part(rules[thread.identity.rule]) for thread in consequences),
        costs=tuple(GroupCost(group, piled_up.get(group), unowned.get(group, 0) / _MINUTE) for group in groups),
        resolution=None if until == NEVER else resolution,
        backlog_is_minimum=any(_is_minimum(thread) for thread in threads),
        commands=filled(templates, groups, members, _read_queues(topics, queues)),
    )


def _read_queues(topics: Sequence[str], queues: Sequence[Queue]) -> dict[str, int | None]:
    """By topic the number of queues that has all of those; None: none of them is the topic's."""
    numbers = dict[str, int | None].fromkeys(topics)
    for topic, _, queue_id in queues:
        if topic in numbers:
            numbers[topic] = max(numbers[topic] or 0, queue_id + 1)
    return numbers


def _lasting(roots: Sequence[Thread], consequences: Sequence[Thread]) -> list[Thread]:
    """The consequences above INFO about queues of a root, or of its groups if no root names queues: while they last, so
    does the incident.
    """
    queues = frozenset(queue for thread in roots for queue in thread.queues)
    return [
        thread
        for thread in consequences
        if thread.worst.severity != SEVERITIES[0] and (thread.queues & queues if queues else thread.queues)
    ]


def _incident_id(first: Thread, rule: Rule) -> str:
    """Stable: it hashes what began, and in which step; what several groups share stands for the group."""
    began = first.findings[0]
    shared = sorted(map(str, rule.spreads_by(began))) if rule.spreads_by else [began.cause or ""]
    identity = (first.identity.cluster, rule.name) if rule.spreads_by else first.identity
    begins = from_micros(first.step_start).isoformat()
    text = "\n".join([*(name or "" for name in identity), *shared, begins])
    return sha256(text.encode()).hexdigest()[:16]


def _topics(threads: Sequence[Thread]) -> tuple[str, ...]:
    return tuple(sorted({topic for thread in threads for topic in thread.topics}))


def _queues(threads: Sequence[Thread]) -> tuple[Queue, ...]:
    return tuple(sorted({queue for thread in threads for queue in thread.queues}))


def _members(roots: Sequence[Thread]) -> tuple[str, ...]:
    return tuple(sorted({client_id for thread in roots for client_id in thread.members}))


def _piled_up(threads: Sequence[Thread]) -> dict[str, int]:
    """Per group the highest backlog that its findings give, where it is known: of one about several topics, or of each
    topic, added up. What came to queues without an offset is added up over the findings of one condition.
    """
    backlogs: dict[str, dict[str | None, list[tuple[int | None, int | None]]]] = defaultdict(lambda: defaultdict(list))
    for thread in threads:
        of_topics = by_key((finding.evidence for finding in thread.findings), partial(_topic, thread))
        for topic, of_topic in of_topics.items():
            minimums = [_without_offset(evidence) for evidence in of_topic]
            backlogs[thread.identity.consumer_group][topic] += [
                (known_sum((_highest(evidence), sum(minimums) - own or None)), evidence.unknown_queues)
                for evidence, own in zip(of_topic, minimums, strict=True)
            ]
    piled_up: dict[str, int] = {}
    for group, of_group in backlogs.items():
        highest = {topic: highest_backlog(pairs) for topic, pairs in of_group.items()}
        of_several = highest.pop(None, None)
        known = [messages for messages in (of_several, known_sum(highest.values())) if messages is not None]
        if known:
            piled_up[group] = max(known)
    return piled_up


def _topic(thread: Thread, evidence: Evidence) -> str | None:
    """The topic of all queues of a finding, or else that of its condition."""
    topics = {queue.topic for queue in evidence.queues}
    return topics.pop() if len(topics) == 1 else thread.identity.topic


def _highest(evidence: Evidence) -> int | None:
    """The highest backlog of a finding; of queues that cannot be read the last known one, if that is more."""
    last_known = dict(evidence.measures or ()).get(LAST_KNOWN)
    known = [messages for messages in (evidence.backlog_max, last_known) if messages is not None]
    return int(max(known)) if known else None


def _without_offset(evidence: Evidence) -> int:
    """The messages that came to queues of which the backlog is not known: at least so many wait."""
    return sum(queue.backlog_max or 0 for queue in evidence.queues if queue.backlog_end is None)


def _is_minimum(thread: Thread) -> bool:
    """Return whether more messages may wait: those of queues without an offset count since they are watched."""
    counts_produced = not {NEVER_COMMITTED, REFUSED}.isdisjoint(thread.causes)
    return counts_produced or any(_without_offset(finding.evidence) for finding in thread.findings)


def _unowned(threads: Sequence[Thread]) -> dict[str, int]:
    """How long the queues of each group had no owner, added up, however many findings say so: not those into which
    nothing came, and in which nothing waited.

    There are many queues: their names and times are slices, and a time that several findings give is counted once.
    """
    times_by_group: dict[str, dict[Queue, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))
    for thread in threads:
        times_by_queue = times_by_group[thread.identity.consumer_group]
        for finding in thread.findings:
            for queue in finding.evidence.queues:
                if queue.role == UNASSIGNED and not (queue.produced == 0 == queue.backlog_max):
                    times_by_queue[queue[:3]].add(queue[4:6])
    return {group: sum(map(covered, times_by_queue.values())) for group, times_by_queue in times_by_group.items()}


def _headline(rule: Rule, roots: Sequence[Thread], worst: IncidentPart) -> str:
    """The rule's sentence, with the names of the roots; retry topics only where there are no others."""
    queues = _queues(roots)
    queues = tuple(queue for queue in queues if not queue[0].startswith(RETRY)) or queues
    headline = rule.headline_of(worst.cause).format(
        groups=Names(sorted({thread.identity.consumer_group for thread in roots}), "group"),
        topics=Names(_topics(roots), "topic"),
        queues=queues_by_topic(queues) if queues else "its queues",
        brokers=Names(sorted({broker for _, broker, _ in queues}), "broker"),
        subjects=Names(sorted({thread.worst.subject for thread in roots}), "client"),
        members=Names(_members(roots), "client"),
    )
    return ": ".join(filter(None, (headline, worst.detail)))


def part_headline(part: IncidentPart, rule: Rule) -> str:
    """The rule's sentence of one condition, with the queues of its worst finding, or the topic of a client's."""
    sentence = rule.headline_of(part.cause)
    has_queues = part.names_more and "{subjects" not in sentence
    headline = sentence.format(
        groups=Names([part.consumer_group], "group"),
        topics=Names([part.topic or ""], "topic"),
        queues=f"{part.topic or ''} {part.subject}".strip() if has_queues else part.topic or "its queues",
        brokers=Names(sorted({queue.rpartition(":")[0] for queue in part.subject.split(", ")}), "broker"),
        subjects=Names([part.subject], "client"),
        members=Names(part.members, "client"),
    )
    return ": ".join(filter(None, (headline, part.detail)))


class Names:
    """Names of things in a headline: `{names}` writes them, or their number; `{names:has|have}` agrees with it."""

    def __init__(self, names: Sequence[str], thing: str) -> None:
        self._names, self._thing = names, thing

    def __format__(self, forms: str) -> str:
        """The names; with `singular|plural` the form that agrees with their number."""
        if forms:
            singular, _, plural = forms.partition("|")
            return singular if len(self._names) == 1 else plural
        return count(len(self._names), self._thing) if len(self._names) > _NAMED else joined_names(self._names)
