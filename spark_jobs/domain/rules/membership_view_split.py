"""MEMBERSHIP_VIEW_SPLIT: the brokers that host a topic list different members of a group."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.rules.rule import Cause, Party, Rule, RuleHit
from spark_jobs.domain.rules.split_views import split_views

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
