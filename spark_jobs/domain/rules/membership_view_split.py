"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval
from spark_jobs.domain.model.finding import Party, RuleHit
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "MEMBERSHIP_VIEW_SPLIT"
BROKERS_DISAGREE = "BROKERS_DISAGREE"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per (topic, moment at which views of single brokers begin); one condition per group and topic.

    All views of a split begin with it, so the moment with the most views tells who lists whom.
    """
    for together in split_views(step):
        first = together[0]
        yield RuleHit(
            first.start,
            max(one.end for one in together),
            cause=BROKERS_DISAGREE,
            topic=first.topic,
            view=first.view,
            severity="ERROR",
            weight=len(together),
            parties=tuple(
                Party(one.view, tuple(dict.fromkeys(member.client_id for member in one.members or ())))
                for one in together
            ),
        )


RULE = Rule(
    name=NAME,
    headline="Brokers list different members of {groups}",
    meaning="The brokers that host a topic list different members of the group. Each client asks a random one of them, "
    "so the clients disagree for as long as this lasts: some queues are consumed twice, others by nobody. One "
    "finding per group and topic, except retry topics; `parties` are the brokers with the client ids that each "
    "listed at the start.",
    decided_by="the brokers of the topic list different members for longer than a group takes to agree plus the next "
    "heartbeats (50 s), and at least two of them were asked since it began. A broker that lists no member "
    "does not count while another lists some. ERROR.",
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


def split_views(step: AuditedStep) -> Iterator[list[RebalanceInterval]]:
    """The replayed intervals of single brokers that begin together, by their view; of ordinary topics.

    Where the lists of that time were seen to differ: a broker that was not asked since may not differ any more.
    """
    split = [one for one in step.replayed if one.view != ALL_HOSTS and one.is_ordinary]
    for _, of_topic in groupby(split, key=lambda one: one.topic):
        last: dict[str, RebalanceInterval] = {}
        for start, together in groupby(of_topic, key=lambda one: one.start):
            views = {one.view: one for one in together}
            last |= views
            if _differ([one for one in last.values() if one.end > start], start):
                yield [views[name] for name in sorted(views)]


def _differ(views: Sequence[RebalanceInterval], start: int) -> bool:
    """Whether two lists that brokers were seen to give since then are different; of one view nobody can say."""
    asked = [one for one in views if one.seen_at is None or one.seen_at >= start]
    return len(views) == 1 or len({tuple(member.client_id for member in one.members or ()) for one in asked}) > 1
