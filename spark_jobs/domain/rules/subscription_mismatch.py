"""SUBSCRIPTION_MISMATCH: members of one group subscribe to different topics, or different messages of one topic."""

import re
from collections.abc import Iterable, Iterator, Sequence

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.finding import ConflictingValue, Finding, RuleHit
from spark_jobs.domain.model.history import Membership
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.severities import ERROR
from spark_jobs.domain.model.window import SECOND, Time, common
from spark_jobs.domain.phrases import names_text
from spark_jobs.domain.rules.commands import CONNECTIONS
from spark_jobs.domain.rules.conflicting_values import changing_within, conflicting_values, flaps, with_both_kinds
from spark_jobs.domain.rules.rule import Cause, Rule

#: Between two subscriptions of a value's name; an expression may hold commas.
_PART = re.compile(r", (?=[^ ,:]+: )")
#: How the subscriptions of a group's members differ; the first that applies.
DIFFERENT_TOPICS, DIFFERENT_EXPRESSIONS = "DIFFERENT_TOPICS", "DIFFERENT_EXPRESSIONS"
#: No member subscribes to the messages that the broker gives to them.
BROKER_DIFFERS = "BROKER_DIFFERS"
#: (topic, expression), sorted.
_SortedSubscriptions = tuple[tuple[str, str], ...]


def hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per time in which subscriptions differ, a broker's list of them alternates, or a broker filters a topic by an
    expression of no member; a condition per cause, and of the last one per topic.
    """
    for interval in step.intervals:
        for conflict in (each for each in interval.disagreements if each.subscriptions):
            answers = [(tuple(sorted(subscriptions)), client_id) for client_id, subscriptions in conflict.subscriptions]
            yield RuleHit(
                *(conflict.start, conflict.end, mismatch(subscriptions for subscriptions, _ in answers)),
                view=interval.view,
                weight=1,
                conflicting_values=conflicting_values(answers, _text),
            )
    for spans in step.memberships.values():
        together = step.settings.thresholds.verdict_window_seconds * SECOND
        flapped = list(flaps(spans, lambda membership: membership.subscriptions, changing_within(step.settings)))
        for before, now in with_both_kinds(flapped, spans, together):
            # Whose they are, the broker does not show.
            variants = sorted(tuple(sorted(span.state.subscriptions)) for span in (before, now))
            yield RuleHit(
                *(now.start, now.end, mismatch(variants)),
                conflicting_values=tuple(ConflictingValue(_text(subscriptions), None) for subscriptions in variants),
                measures={"changes": len(flapped) + 1},
                hint="Which client has which subscription is not known: record the clients' running info.",
            )
        for span in spans:
            yield from _broker_differs(step, span)


def _broker_differs(step: AuditedStep, span: Span[Membership]) -> Iterator[RuleHit]:
    """One per topic and time in which all clients that a broker lists report expressions other than the broker's."""
    clients = [step.history.clients.get(client_id) for client_id in dict.fromkeys(span.state.client_ids)]
    states_of_clients = [client.series.states if client else () for client in clients]
    same = (None, span.state.subscriptions)
    if not clients or not all(any(each.subscriptions not in same for each in states) for states in states_of_clients):
        return  # as mostly
    for topic, expression in sorted(span.state.subscriptions):
        answers: list[tuple[str, str]] = []
        times: Sequence[Time] = [(span.start, span.end)]
        for client_id in dict.fromkeys(span.state.client_ids):
            reported = step.history.clients[client_id].series.spans(step.window, step.settings.max_gap)
            other = [
                each for each in reported if dict(each.state.subscriptions or ()).get(topic, expression) != expression
            ]
            answers += [(f"{topic}: {dict(each.state.subscriptions or ())[topic]}", client_id) for each in other]
            times = [overlap for time in times for each in other if (overlap := common(time, (each.start, each.end)))]
        for start, end in times:
            yield RuleHit(
                *(start, end, BROKER_DIFFERS, topic),
                minimum_seconds=changing_within(step.settings) / SECOND,
                conflicting_values=conflicting_values(answers, str),
                hint=f"The broker filters {topic} by {expression}.",
            )


def mismatch(known: Iterable[_SortedSubscriptions]) -> str | None:
    """How the known subscriptions of members differ, retry topics left out; None: they are the same."""
    different = set(known)
    if len({tuple(topic for topic, _ in subscriptions) for subscriptions in different}) > 1:
        return DIFFERENT_TOPICS
    return DIFFERENT_EXPRESSIONS if len(different) > 1 else None


def _text(subscriptions: _SortedSubscriptions) -> str:
    return ", ".join(f"{topic}: {expression}" for topic, expression in subscriptions) or "nothing"


def _detail(finding: Finding) -> str:
    """The subscriptions that only some have, with their clients; and how often a broker's changed, if that shows it."""
    values = finding.evidence.conflicting_values or ()
    parts = [set(_PART.split(value.name)) for value in values]
    shared = set.intersection(*parts) if parts else set()
    texts = [
        f"{', '.join(sorted(own))} only in {names_text(value.client_ids) if value.client_ids else 'some'}"
        for value, subscribed in zip(values, parts, strict=True)
        if (own := subscribed - shared)
    ]
    changes = finding.evidence.measured.get("changes")
    seen = [f"the broker's subscription changed {changes:,.0f} times"] if changes else []
    return "; ".join([*texts, *seen])


RULE = Rule(
    name="SUBSCRIPTION_MISMATCH",
    headline="Consumers of {groups} have different subscriptions",
    detail=_detail,
    ended="all members had the same subscriptions again",
    meaning="Members subscribe to different topics, or to different messages of one. Brokers keep the subscription "
    "of the last heartbeat: messages are filtered by the wrong expression and lost, or a member does not read its "
    "queues.",
    decided_by="Clients report it, or a broker's subscription of the group changes and changes back while all "
    "clients stay (`changes`: how often). It ends when a client leaves, or when the subscription stays the same for "
    "twice as long as it usually does. `BROKER_DIFFERS`: for longer than `convergence_seconds`, "
    "`heartbeat_seconds` and one collection interval. ERROR.",
    causes={
        DIFFERENT_TOPICS: Cause(
            "a member lacks a topic",
            "Make all members subscribe to the same topics, or give the consumers of each topic a separate group.",
            commands=(CONNECTIONS,),
        ),
        DIFFERENT_EXPRESSIONS: Cause(
            "different tags or SQL expressions",
            "Use one expression for all members, or one group per expression: a message that only another member's "
            "expression matches is lost.",
            commands=(CONNECTIONS,),
        ),
        BROKER_DIFFERS: Cause(
            "a broker filters by an expression that none of the clients that it lists reports",
            "Messages that the broker filters out are lost. A broker takes a new subscription only if its subVersion, "
            "the client's clock when it subscribed, is higher (RocketMQ issue #6679): clocks that were set back keep "
            "the old one. Set the clocks of the clients (NTP), stop all members, and start them again: the broker "
            "forgets the subscription when the last one leaves.",
            headline="The broker filters messages of {groups} by a subscription that no member has",
            commands=(CONNECTIONS,),
        ),
    },
    evaluate=hits,
    hit_severity=ERROR,
)
