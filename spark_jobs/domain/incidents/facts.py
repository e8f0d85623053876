"""The fields of an incident, also its peak backlog by group, from the findings of its roots and symptoms."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Final, NamedTuple

from spark_jobs.domain.incidents.thread import Thread, worst_of
from spark_jobs.domain.incidents.values import END_OF_TIME, GroupCost, Incident, IncidentPart
from spark_jobs.domain.model.causes import PRODUCED_WAITS
from spark_jobs.domain.model.finding import Evidence, QueueEvidence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.message_queue import MessageQueue, queues_by_topic
from spark_jobs.domain.model.severities import INFO, SEVERITIES
from spark_jobs.domain.model.window import MINUTE, Time, covered, from_micros
from spark_jobs.domain.phrases import NAMED, count, joined_names, known_sum
from spark_jobs.domain.rules.broker_not_readable import LAST_KNOWN, NOT_READABLE
from spark_jobs.domain.rules.commands import A_BROKER, filled
from spark_jobs.domain.rules.flow_controlled import THROTTLED
from spark_jobs.domain.rules.queue_owners import UNASSIGNED
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.rules.standing import BEHIND


def incident(roots: Sequence[Thread], symptoms: Sequence[Thread], rules: Mapping[str, Rule]) -> Incident:
    """The incident of one event; threads in the order of time."""
    threads = [*roots, *symptoms]
    first_root, current_roots = roots[0], _current(roots)
    rule = rules[first_root.identity.rule]
    # Stable: it hashes what began, in which step, and how many like it began there before.
    began = "\n".join([*kind(first_root, rule), *([str(first_root.number)] if first_root.number else [])])
    worst = worst_of(thread.worst for thread in current_roots)
    worst_root = next(thread for thread in current_roots if thread.worst is worst)
    lasting = [*roots, *_lasting(roots, symptoms)]
    until, resolution = max((thread.until, thread.resolution) for thread in lasting)
    groups = tuple(sorted({thread.identity.consumer_group for thread in threads}))
    current = _current(threads)
    backlogs, unowned = peak_backlogs(current), _unowned(threads)
    templates = rules[worst_root.identity.rule].cause_of(worst.cause).commands
    topics, queues, client_ids = _topics(threads), _queues(current), _client_ids(roots)
    return Incident(
        incident_id=sha256(began.encode()).hexdigest()[:16],
        cluster=first_root.identity.cluster,
        rule=rule.name,
        cause=worst.cause,
        causes=tuple(dict.fromkeys(cause for thread in roots for cause in thread.causes)),
        severity=max((thread.worst.severity for thread in threads), key=SEVERITIES.index),
        headline=_headline(rule, current_roots, worst_root.part(rule)),
        opened_at=min([first_root.start, *(each.start for each in lasting if each.findings[0].severity != INFO)]),
        resolved_at=None if until == END_OF_TIME else until,
        last_seen_at=max(thread.end for thread in lasting),
        consumer_groups=groups,
        topics=topics,
        queues=queues,
        client_ids=client_ids,
        peak_backlog_messages=known_sum(backlogs.values()),
        unassigned_queue_minutes=sum(unowned.values()) / MINUTE,
        advice=worst.advice,
        root_causes=tuple(thread.part(rules[thread.identity.rule]) for thread in roots),
        symptoms=tuple(thread.part(rules[thread.identity.rule]) for thread in symptoms),
        costs=tuple(GroupCost(group, backlogs.get(group), unowned.get(group, 0) / MINUTE) for group in groups),
        resolution=None if until == END_OF_TIME else resolution,
        backlog_is_minimum=any(is_minimum(thread) for thread in threads),
        commands=filled(templates, groups, client_ids, _places(topics, queues)),
    )


def kind(first: Thread, rule: Rule) -> tuple[str, ...]:
    """The subject of an incident and the step in which it began; what several groups share stands for the group."""
    began = first.findings[0]
    shared = sorted(map(str, rule.spreads_by(began))) if rule.spreads_by else [began.cause or ""]
    identity = (first.identity.cluster, rule.name) if rule.spreads_by else first.identity[:-1]
    begins = from_micros(first.step_start).isoformat()
    return *(name or "" for name in identity), *shared, begins


def _current(threads: Sequence[Thread]) -> Sequence[Thread]:
    """Those that last; all if none does."""
    return [thread for thread in threads if thread.until == END_OF_TIME] or threads


def _places(topics: Sequence[str], queues: Sequence[MessageQueue]) -> dict[tuple[str, str], int | None]:
    """By topic and broker the number of queues that has all of those; None for `A_BROKER` of a topic without them."""
    numbers = dict[tuple[str, str], int | None]()
    of_topics = by_key(queues, lambda queue: queue.topic)
    for topic in topics:
        for broker, of_broker in by_key(of_topics.get(topic, ()), lambda queue: queue.broker_name).items():
            numbers[topic, broker] = 1 + max(queue.queue_id for queue in of_broker)
        if topic not in of_topics:
            numbers[topic, A_BROKER] = None
    return numbers


def _lasting(roots: Sequence[Thread], symptoms: Sequence[Thread]) -> list[Thread]:
    """The symptoms above INFO about queues of a root cause (or of its groups, if it has none): these keep it open."""
    queues = frozenset(queue for thread in roots for queue in thread.queues)
    return [
        thread
        for thread in symptoms
        if thread.worst.severity != INFO and (thread.queues & queues if queues else thread.queues)
    ]


def _topics(threads: Sequence[Thread]) -> tuple[str, ...]:
    return tuple(sorted({topic for thread in threads for topic in thread.topics}))


def _queues(threads: Sequence[Thread]) -> tuple[MessageQueue, ...]:
    return tuple(sorted({queue for thread in threads for queue in thread.queues}))


def _client_ids(roots: Sequence[Thread]) -> tuple[str, ...]:
    return tuple(sorted({client_id for thread in roots for client_id in thread.client_ids}))


def _unowned(threads: Sequence[Thread]) -> dict[str, int]:
    """How long the queues of each group in which messages waited had no owner, added up, each time once."""
    times_by_group: dict[str, dict[MessageQueue, set[Time]]] = defaultdict(lambda: defaultdict(set))
    for thread in threads:
        times_by_queue = times_by_group[thread.identity.consumer_group]
        for finding in thread.findings:
            for queue in finding.evidence.queues:
                if waits_without_owner(queue):
                    times_by_queue[queue.queue].add(queue.time)
    return {group: sum(map(covered, times_by_queue.values())) for group, times_by_queue in times_by_group.items()}


def waits_without_owner(queue: QueueEvidence) -> bool:
    """Return whether messages wait, or may wait, in a queue that has no owner."""
    return queue.role == UNASSIGNED and not (queue.produced == 0 == queue.backlog_max)


def _headline(rule: Rule, roots: Sequence[Thread], worst: IncidentPart) -> str:
    """The rule's sentence, with the names of the roots; retry topics only where there are no others."""
    queues = _queues(roots)
    queues = tuple(queue for queue in queues if not queue.topic.startswith(RETRY)) or queues
    headline = rule.headline_of(worst.cause).format(
        groups=Names(sorted({thread.identity.consumer_group for thread in roots}), "group"),
        topics=Names(_topics(roots), "topic"),
        queues=queues_by_topic(queues) if queues else "its queues",
        brokers=Names(sorted({queue.broker_name for queue in queues}), "broker"),
        subjects=Names(sorted({thread.worst.subject for thread in roots}), "client"),
        members=Names(_client_ids(roots), "client"),
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
        brokers=Names(part.brokers, "broker"),
        subjects=Names([part.subject], "client"),
        members=Names(part.client_ids, "client"),
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
        return count(len(self._names), self._thing) if len(self._names) > NAMED else joined_names(self._names)


#: Roles of queues in which messages wait. Those of other roles are consumed: what is in flight is not added up.
_WAITING: Final = (UNASSIGNED, NOT_READABLE, BEHIND, THROTTLED)


class _Backlog(NamedTuple):
    """A backlog (messages) of one topic in a time, its queues that wait, and how many of all have an unknown one."""

    start: int
    end: int
    queues: frozenset[MessageQueue]
    messages: int | None
    unknown: int | None


def peak_backlogs(threads: Sequence[Thread]) -> dict[str, int]:
    """Per group the highest backlog that its findings give, where it is known: of one about several topics, or of each
    topic, added up. What came to queues without an offset is added up over the findings of one condition.
    """
    backlogs: dict[str, dict[str | None, list[_Backlog]]] = defaultdict(lambda: defaultdict(list))
    for thread in threads:
        of_topics = by_key(thread.findings, lambda finding: finding.topic or finding.evidence.topic)
        for topic, topic_findings in of_topics.items():
            of_topic = [finding.evidence for finding in topic_findings]
            queues = frozenset(
                queue.queue for evidence in of_topic for queue in evidence.queues if queue.role in _WAITING
            )
            minimums = [without_offset(evidence) for evidence in of_topic]
            backlogs[thread.identity.consumer_group][topic] += [
                _Backlog(
                    thread.start,
                    thread.end,
                    queues,
                    known_sum((highest_of(evidence), sum(minimums) - own or None)),
                    evidence.unknown_queues,
                )
                for evidence, own in zip(of_topic, minimums, strict=True)
            ]
    highest_of_group: dict[str, int] = {}
    for group, of_group in backlogs.items():
        highest = {topic: _highest_together(of_topic) for topic, of_topic in of_group.items()}
        of_several = highest.pop(None, None)
        known = [messages for messages in (of_several, known_sum(highest.values())) if messages is not None]
        if known:
            highest_of_group[group] = max(known)
    return highest_of_group


def is_minimum(thread: Thread) -> bool:
    """Return whether more messages may wait: those of queues without an offset count since they are watched."""
    counts_produced = not PRODUCED_WAITS.isdisjoint(thread.causes)
    return counts_produced or any(without_offset(finding.evidence) for finding in thread.findings)


def highest_of(evidence: Evidence) -> int | None:
    """The highest backlog of a finding; of queues that cannot be read the last known one, if that is more."""
    last_known = evidence.measured.get(LAST_KNOWN)
    known = [messages for messages in (evidence.backlog_max, last_known) if messages is not None]
    return int(max(known)) if known else None


def without_offset(evidence: Evidence) -> int:
    """The messages that came to queues of which the backlog is not known: at least so many wait."""
    return sum(queue.backlog_max or 0 for queue in evidence.queues if queue.backlog_end is None)


def _highest_together(backlogs: Sequence[_Backlog]) -> int | None:
    """The highest backlog of one topic at one time: the highest of those that share queues, and the sum of others;
    None: unknown, or 0 alongside unknown queues.
    """
    parts: list[list[_Backlog]] = []
    for backlog in backlogs:
        common = [part for part in parts if any(_have_common_queues(each, backlog) for each in part)]
        parts = [part for part in parts if part not in common] + [[backlog, *chain.from_iterable(common)]]
    times = {backlog.start for backlog in backlogs}
    together = (known_sum(_highest_at(part, at) for part in parts) for at in times)
    highest = max((messages for messages in together if messages is not None), default=None)
    return highest if highest or not any(each.unknown for each in backlogs) else None


def _have_common_queues(first: _Backlog, second: _Backlog) -> bool:
    """Return whether they do; one that names no queues may be about any."""
    return not first.queues or not second.queues or not first.queues.isdisjoint(second.queues)


def _highest_at(backlogs: Sequence[_Backlog], at: int) -> int | None:
    known = (each.messages for each in backlogs if each.messages is not None and each.start <= at < each.end)
    return max(known, default=None)
