"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, groupby

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import Party, RuleHit
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "MEMBERSHIP_VIEW_SPLIT"
BROKERS_DISAGREE = "BROKERS_DISAGREE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic, moment at which views of single brokers begin); one condition per group and topic.

    All views of a split begin with it, so the moment with the most views tells who lists whom.
    """
    for views, split in split_views(step):
        together = [interval for interval in views if interval.start == split.start]
        yield replace(
            split,
            cause=BROKERS_DISAGREE,
            severity=ERROR,
            weight=len(together),
            parties=tuple(Party(interval.view, tuple(dict.fromkeys(_ids(interval)))) for interval in together),
        )


RULE = Rule(
    name=NAME,
    headline="Brokers list different members of {groups}",
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
    """At each moment at which intervals of single brokers begin, those that stand then, by their view, with the hit
    that those that begin are; of ordinary topics.

    Where the lists of that time were seen to differ: a broker that was not asked since may not differ any more.
    """
    split = [interval for interval in step.replayed if interval.view != ALL_HOSTS and interval.is_ordinary]
    for _, of_topic in groupby(split, key=lambda interval: interval.topic):
        last: dict[str, RebalanceInterval] = {}
        for start, together in groupby(of_topic, key=lambda interval: interval.start):
            begun = {interval.view: interval for interval in together}
            last |= begun
            lists = [last[name] for name in sorted(last) if last[name].end > start]
            seen_at = _seen_to_differ(step, lists, start)
            if seen_at is not None:
                yield lists, _hit(step, [begun[name] for name in sorted(begun)], lists, seen_at)


def _seen_to_differ(step: AuditedStep, views: Sequence[RebalanceInterval], start: int) -> int | None:
    """Until when two brokers were seen to list different members since then, each asked while the other listed that;
    None: never. Of one view nobody can say.
    """
    if len(views) == 1:
        return views[0].seen_at
    found = []
    for interval, other in combinations(views, 2):
        until = min(interval.seen_at or start, other.seen_at or start)
        if _ids(interval) != _ids(other) and all(
            _was_asked(step, each.view, start, until) for each in (interval, other)
        ):
            found.append(until)
    return max(found, default=None)


def _was_asked(step: AuditedStep, broker_name: str, start: int, until: int) -> bool:
    asked = step.history.memberships[broker_name].inside(start, until + 1)
    return bool(asked.start < asked.stop)


def _hit(
    step: AuditedStep, together: Sequence[RebalanceInterval], lists: Sequence[RebalanceInterval], seen_at: int
) -> RuleHit:
    thresholds = step.settings.thresholds
    only_twins = len(lists) > 1 and len({frozenset(_ids(interval)) for interval in lists}) == 1
    return RuleHit(
        together[0].start,
        max(interval.end for interval in together),
        topic=together[0].topic,
        view=together[0].view,
        seen_at=seen_at,
        minimum_seen_seconds=thresholds.persistent_after_seconds if only_twins else thresholds.settled_seconds,
    )


def _ids(view: RebalanceInterval) -> list[str]:
    return [member.client_id for member in view.members or ()]
