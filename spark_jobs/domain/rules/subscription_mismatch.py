"""SUBSCRIPTION_MISMATCH: members of one group subscribe to different topics, or different messages of one topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import Finding, Party, RuleHit
from spark_jobs.domain.model.history import Subscriptions
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules.commands import CONNECTIONS
from spark_jobs.domain.rules.parties import changing_within, flapping, parties
from spark_jobs.domain.rules.rule import Cause, Rule

NAME = "SUBSCRIPTION_MISMATCH"
#: Names in a headline, at most.
_NAMED = 3
#: Between two subscriptions of a party's name; an expression may hold commas.
_PART = re.compile(r", (?=[^ ,:]+: )")


class MismatchCause(StrEnum):
    """How the subscriptions of a group's members differ; the first that applies."""

    DIFFERENT_TOPICS = "DIFFERENT_TOPICS"
    DIFFERENT_EXPRESSIONS = "DIFFERENT_EXPRESSIONS"


#: (topic, expression), sorted.
_SortedSubscriptions = tuple[tuple[str, str], ...]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per span in which members reported different subscriptions, or a broker's list of them changed back and
    forth; one condition per group and cause.
    """
    for interval in step.intervals:
        for conflict in interval.subscription_conflicts:
            answers = [(_sorted(subscriptions), client_id) for client_id, subscriptions in conflict.answers]
            yield RuleHit(
                conflict.start,
                conflict.end,
                cause=mismatch(subscriptions for subscriptions, _ in answers),
                view=interval.view,
                severity=ERROR,
                weight=1,
                parties=parties(answers, _text),
            )
    for spans in step.memberships.values():
        together = step.settings.thresholds.verdict_window_seconds * SECOND
        changing = changing_within(step.settings)
        for flap in flapping(spans, lambda membership: membership.subscriptions, changing, together):
            # Whose they are, the broker does not show.
            variants = sorted(_sorted(state.subscriptions) for state in (flap.first, flap.second))
            yield RuleHit(
                flap.start,
                flap.end,
                cause=mismatch(variants),
                severity=ERROR,
                parties=tuple(Party(_text(subscriptions), None) for subscriptions in variants),
                measures={"changes": flap.changes},
                hint="Which client has which subscription is not known: record the clients' running info.",
            )


def mismatch(known: Iterable[_SortedSubscriptions]) -> MismatchCause | None:
    """How the known subscriptions of members differ, retry topics left out; None: they are the same."""
    different = set(known)
    if len({tuple(topic for topic, _ in subscriptions) for subscriptions in different}) > 1:
        return MismatchCause.DIFFERENT_TOPICS
    return MismatchCause.DIFFERENT_EXPRESSIONS if len(different) > 1 else None


def _sorted(subscriptions: Subscriptions) -> _SortedSubscriptions:
    return tuple(sorted(subscriptions))


def _text(subscriptions: _SortedSubscriptions) -> str:
    return ", ".join(f"{topic}: {expression}" for topic, expression in subscriptions) or "nothing"


def _detail(finding: Finding) -> str:
    """Return what only some subscribe to, and who that is; how often a broker's subscription changed, if that
    shows it.
    """
    parties = finding.evidence.parties or ()
    parts = [set(_PART.split(party.name)) for party in parties]
    shared = set.intersection(*parts) if parts else set()
    texts = [
        f"{', '.join(sorted(own))} only in {names_text(party.client_ids, _NAMED) if party.client_ids else 'some'}"
        for party, subscribed in zip(parties, parts, strict=True)
        if (own := subscribed - shared)
    ]
    changes = dict(finding.evidence.measures or ()).get("changes")
    seen = [f"the broker's subscription changed {changes:,.0f} times"] if changes else []
    return "; ".join([*texts, *seen])


RULE = Rule(
    name=NAME,
    headline="Consumers of {groups} have different subscriptions",
    detail=_detail,
    meaning="Members of one group subscribe to different topics, or to different messages of one topic. RocketMQ "
    "requires equal subscriptions but does not check them: brokers keep the subscription of the last "
    "heartbeat, so messages are filtered by the wrong expression and lost, or queues are in the share of a "
    "member that does not read them. One finding per group and cause; `parties` are the different "
    "subscriptions with the clients that have them.",
    decided_by="the subscriptions in the clients' own running info, where it was recorded; otherwise a broker whose "
    "subscriptions of the group change and change back while all clients of before stay (it is then unknown "
    "which client has which; `changes`: how often it changed). Such a finding lasts until one of these clients is "
    "gone, or the subscription has been the same for twice as long as it usually is. Retry topics do not count, nor "
    "does the order of tags. ERROR.",
    causes={
        MismatchCause.DIFFERENT_TOPICS: Cause(
            "a member subscribes to a topic that another one does not",
            "All members of a group must subscribe to the same topics: give the consumers of each topic a group of "
            "their own.",
            commands=(CONNECTIONS,),
        ),
        MismatchCause.DIFFERENT_EXPRESSIONS: Cause(
            "the topics are the same, but tags or SQL expressions differ",
            "All members of a group must use the same expression: a message that only another member's expression "
            "matches is skipped and lost. Use one expression, or one group per expression.",
            commands=(CONNECTIONS,),
        ),
    },
    example="`notify-service`: one member subscribes to `retail`, the other to `wholesale`. `tag-service`: one member "
    "subscribes to `TagA` of `retail`, the other to `TagB`. Both last for the whole recording.",
    hits=hits,
)
