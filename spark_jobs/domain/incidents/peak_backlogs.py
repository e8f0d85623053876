"""The peak backlog of an incident, by group."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from spark_jobs.domain.incidents.thread import Thread
from spark_jobs.domain.model.causes import PRODUCED_WAITS
from spark_jobs.domain.model.finding import Evidence
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.phrases import known_sum
from spark_jobs.domain.rules.broker_not_readable import LAST_KNOWN, NOT_READABLE
from spark_jobs.domain.rules.flow_controlled import THROTTLED
from spark_jobs.domain.rules.queue_owners import UNASSIGNED
from spark_jobs.domain.rules.standing import BEHIND

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
