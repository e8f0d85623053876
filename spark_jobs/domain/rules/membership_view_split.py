"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import Finding, Party, RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "MEMBERSHIP_VIEW_SPLIT"
BROKERS_DISAGREE = "BROKERS_DISAGREE"
#: Names in a headline, at most.
_NAMED = 3


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic, moment at which views of single brokers begin); one condition per group and topic.

    All views of a split begin with it, so the moment with the most views tells who lists whom.
    """
    for views, split in split_views(step):
        begun = [interval for interval in views if interval.start == split.start]
        yield replace(
            split,
            cause=BROKERS_DISAGREE,
            severity=ERROR,
            weight=len(begun),
            parties=tuple(Party(interval.view, tuple(dict.fromkeys(_ids(interval)))) for interval in begun),
        )


def _detail(finding: Finding) -> str:
    """Which brokers do not list which of the clients that another broker lists."""
    parties = finding.evidence.parties or ()
    listed = {client_id for party in parties for client_id in party.client_ids or ()}
    missing = ((party.name, sorted(listed.difference(party.client_ids or ()))) for party in parties)
    return ", ".join(f"{broker} does not list {names_text(ids, _NAMED)}" for broker, ids in missing if ids)


RULE = Rule(
    name=NAME,
    headline="Brokers list different members of {groups}",
    detail=_detail,
    meaning="The brokers that host a topic list different members of the group. Each client asks a random one of them, "
    "so the clients disagree for as long as this lasts: some queues are consumed twice, others by nobody. One "
    "finding per group and topic, except retry topics; `parties` are the brokers with the client ids that each "
    "listed at the start.",
    decided_by="the brokers of the topic list different members, and snapshots of two of them show it until later than "
    "a group takes to agree plus the next heartbeats (50 s). Where they list the same ids, but some more often, "
    "as a broker does with a stale connection for up to 130 s, they must show it for 150 s. A broker that lists no "
    "member does not count while another lists some. ERROR.",
    causes={
        BROKERS_DISAGREE: Cause(
            "two brokers of the topic list different client ids",
            "Every client must send heartbeats to every broker that hosts the topic. Look for clients that cannot "
            "reach one of the brokers, an overloaded broker, or half-open connections.",
        ),
    },
    example="none: after broker-b came back, it listed only some members for up to 20 s, until their heartbeats.",
    hits=hits,
)


def split_views(step: AuditedStep) -> Iterator[tuple[list[RebalanceInterval], RuleHit]]:
    """One per (ordinary topic, moment at which intervals of single brokers begin): the intervals that hold then, sorted
    by view, and the hit of those that begin.

    Only where the brokers were seen to list different members since: one that was not asked may not differ any more.
    """
    split = [interval for interval in step.replayed if interval.view != ALL_HOSTS and interval.is_ordinary]
    for _, topic_intervals in groupby(split, key=lambda interval: interval.topic):
        last: dict[str, RebalanceInterval] = {}
        for start, began_together in groupby(topic_intervals, key=lambda interval: interval.start):
            begun = {interval.view: interval for interval in began_together}
            last |= begun
            lists = [last[name] for name in sorted(last) if last[name].end > start]
            seen_at = _seen_to_differ(step, lists, start)
            if seen_at is not None:
                yield lists, _hit(step, [begun[name] for name in sorted(begun)], lists, seen_at)


def _seen_to_differ(step: AuditedStep, views: Sequence[RebalanceInterval], start: int) -> int | None:
    """Until when (microseconds) two brokers were seen to list different members since `start`, both being asked; None:
    never. For a single view, when it was last seen.
    """
    if len(views) == 1:
        return views[0].seen_at
    differ_until = []
    for interval, other in combinations(views, 2):
        until = min(interval.seen_at or start, other.seen_at or start)
        both_asked = all(_was_asked(step, broker_name, start, until) for broker_name in (interval.view, other.view))
        if _ids(interval) != _ids(other) and both_asked:
            differ_until.append(until)
    return max(differ_until, default=None)


def _was_asked(step: AuditedStep, broker_name: str, start: int, until: int) -> bool:
    snapshots = step.history.memberships[broker_name].inside(start, until + 1)
    return bool(snapshots.start < snapshots.stop)


def _hit(
    step: AuditedStep, begun: Sequence[RebalanceInterval], lists: Sequence[RebalanceInterval], seen_at: int
) -> RuleHit:
    thresholds = step.settings.thresholds
    only_duplicate_ids = len(lists) > 1 and len({frozenset(_ids(interval)) for interval in lists}) == 1
    return RuleHit(
        begun[0].start,
        max(interval.end for interval in begun),
        topic=begun[0].topic,
        seen_at=seen_at,
        minimum_seen_seconds=thresholds.persistent_after_seconds if only_duplicate_ids else thresholds.settled_seconds,
    )


def _ids(view: RebalanceInterval) -> list[str]:
    return [member.client_id for member in view.members or ()]
