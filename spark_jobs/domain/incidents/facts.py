"""The fields of an incident, computed from the findings of its roots and symptoms."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from hashlib import sha256

from spark_jobs.domain.incidents.peak_backlogs import is_minimum, peak_backlogs
from spark_jobs.domain.incidents.thread import Thread, worst_of
from spark_jobs.domain.incidents.values import END_OF_TIME, GroupCost, Incident, IncidentPart
from spark_jobs.domain.model.finding import QueueEvidence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import RETRY
from spark_jobs.domain.model.message_queue import MessageQueue, queues_by_topic
from spark_jobs.domain.model.severities import INFO, SEVERITIES
from spark_jobs.domain.model.window import SECOND, Time, covered, from_micros
from spark_jobs.domain.phrases import NAMED, count, joined_names, known_sum
from spark_jobs.domain.rules.commands import A_BROKER, filled
from spark_jobs.domain.rules.queue_owners import UNASSIGNED
from spark_jobs.domain.rules.rule import Rule

_MINUTE = 60 * SECOND


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
        unassigned_queue_minutes=sum(unowned.values()) / _MINUTE,
        advice=worst.advice,
        root_causes=tuple(thread.part(rules[thread.identity.rule]) for thread in roots),
        symptoms=tuple(thread.part(rules[thread.identity.rule]) for thread in symptoms),
        costs=tuple(GroupCost(group, backlogs.get(group), unowned.get(group, 0) / _MINUTE) for group in groups),
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
