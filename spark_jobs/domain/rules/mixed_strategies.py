"""MIXED_STRATEGIES: members of one group run different allocation strategies."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.rules.parties import parties
from spark_jobs.domain.rules.rule import Cause, Rule, RuleHit

NAME = "MIXED_STRATEGIES"
DIFFERENT_STRATEGIES = "DIFFERENT_STRATEGIES"


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval whose members run different strategies; one condition per group."""
    for interval in step.replayed:
        members = interval.members or ()
        if len({member.strategy for member in members}) > 1:
            yield RuleHit(
                interval.start,
                interval.end,
                cause=DIFFERENT_STRATEGIES,
                view=interval.view,
                seen_at=interval.seen_at,
                severity="ERROR",
                parties=parties(((member.strategy, member.client_id) for member in members), str),
            )


RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} use different allocation strategies",
    meaning="Members of one group run different allocation strategies. Each computes its share by its own, so queues "
    "are consumed twice and others by nobody (see UNASSIGNED_QUEUE and DOUBLE_OWNED_QUEUE for which). One finding per "
    "group; `parties` are the strategies with the clients that run them.",
    decided_by="the strategy class that each client reports, by configuration where a class is somebody's own. A "
    "member that pops (`POP-AVG+2`) runs another one than a member that pulls. ERROR.",
    causes={
        DIFFERENT_STRATEGIES: Cause(
            "two members run different strategies",
            "Members run different allocation strategies: roll out one to all of them.",
        ),
    },
    example="`mixed-service`: two members run AVG, one AVG_BY_CIRCLE, for the whole recording.",
    hits=hits,
)
