"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import ConflictingValue, Finding, RuleHit
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import Time, islands
from spark_jobs.domain.phrases import count, names_text
from spark_jobs.domain.rules.commands import CONNECTIONS_OF_A_BROKER
from spark_jobs.domain.rules.links import brokers_that_list_fewer
from spark_jobs.domain.rules.name_servers import unknown_to
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.rules.split_views import split_views

BROKERS_DISAGREE = "BROKERS_DISAGREE"
LIST_CHANGES = "LIST_CHANGES"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic, moment at which views of single brokers begin); one condition per group, topic and cause."""
    for topic, of_topic in groupby(split_views(step), key=lambda split: split.hit.topic):
        for splits in islands(of_topic):
            brokers = {view.view for split in splits for view in split.views}
            time = splits[0].start, max(split.end for split in splits)
            changes, unknown = _changes(step, brokers, time), unknown_to(step, str(topic), brokers, time)
            for split in splits:
                yield replace(
                    split.hit,
                    cause=LIST_CHANGES if changes else BROKERS_DISAGREE,
                    weight=len(split.begun),
                    measures={"changes": changes} if changes else None,
                    conflicting_values=tuple(
                        ConflictingValue(view.view, tuple(dict.fromkeys(view.client_ids))) for view in split.begun
                    ),
                    hint=unknown,
                )


def _changes(step: AuditedStep, brokers: Collection[str], time: Time) -> int:
    """How often the list of one broker changed meanwhile; 0: less than `flapping_times` more often than another's."""
    changes = [_list_changes(step.memberships.get(broker, ()), *time) for broker in brokers]
    return max(changes) if max(changes) - min(changes) >= step.settings.thresholds.flapping_times else 0


def _list_changes(spans: Sequence[Span[Membership]], start: int, end: int) -> int:
    """How often a broker listed other clients than before, from one moment (microseconds) to another."""
    lists = ((span.start, span.state.client_ids) for span in spans)
    return sum(start <= at < end and ids != ids_before for (_, ids_before), (at, ids) in pairwise(lists))


def _detail(finding: Finding) -> str:
    """Which brokers do not list which of the clients that another broker lists, and how often a list changed."""
    views = finding.evidence.conflicting_values or ()
    listed = {client_id for view in views for client_id in view.client_ids or ()}
    missing = ((view.name, sorted(listed.difference(view.client_ids or ()))) for view in views)
    texts = [f"{broker} does not list {names_text(ids)}" for broker, ids in missing if ids]
    changes = dict(finding.evidence.measures or ()).get("changes")
    return ", ".join([*texts, *([f"and its list changed {count(int(changes), 'time')}"] if changes else [])])


def _broker(finding: Finding) -> str | None:
    """The broker that lists fewer, if only one does."""
    brokers = list(map(str, brokers_that_list_fewer(finding)))
    return brokers[0] if len(brokers) == 1 else None


RULE = Rule(
    name="MEMBERSHIP_VIEW_SPLIT",
    headline="Brokers list different members of {groups}",
    detail=_detail,
    broker=_broker,
    meaning="Brokers of a topic list different members of the group. Each client asks a random broker, so some "
    "queues are consumed twice and others by no consumer.",
    decided_by="Snapshots of two brokers differ for 50 s, or 150 s if only in duplicates. After `flapping_times` (3) "
    "differences, shorter agreements do not end it. A broker without members does not count while another lists some. "
    "ERROR.",
    causes={
        BROKERS_DISAGREE: Cause(
            "two brokers list different client ids",
            "Every client must send heartbeats to every broker of the topic. Check for clients that cannot reach a "
            "broker, a name server whose route lacks one, an overloaded broker, or half-open connections.",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
        LIST_CHANGES: Cause(
            "one broker's list changes at least `flapping_times` (3) times more often than another's (`changes`)",
            "The broker keeps dropping its clients' connections. Check load, pauses and network of the broker that "
            "lists fewer, and its clients' logs: heartbeats that time out (3 s) close a connection. A restart of the "
            "broker ends it.",
            commands=(CONNECTIONS_OF_A_BROKER,),
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
)
