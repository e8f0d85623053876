"""MIXED_STRATEGIES and MIXED_CLIENTS: members of one group that need not compute alike."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from spark_jobs.domain.kernel.allocations import Member
from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.matrices import known_total
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.finding import ConflictingValue, RuleHit
from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.domain.model.severities import ERROR, INFO, WARN
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import MACHINE_ROOM, UNIQUE_INSTANCE_NAME_VERSION, Variant, variant_of
from spark_jobs.domain.rules.conflicting_values import conflicting_values, flaps
from spark_jobs.domain.rules.rule import Cause, Rule

DIFFERENT_STRATEGIES = "DIFFERENT_STRATEGIES"
ONE_STRATEGY = "Configure the same strategy on all members."
ONE_KIND_OF_CLIENT = (
    "Clients compute the same strategy differently: use one language, upgrade Java clients to a version above 4.7.1, "
    "or switch to AVG."
)
#: How the clients of a group differ; the first that applies; message models are separate.
DIFFERENT_MESSAGE_MODELS, DIFFERENT_RULES = "DIFFERENT_MESSAGE_MODELS", "DIFFERENT_RULES"
DIFFERENT_INSTANCE_NAMES, SWITCHED_TO_BROADCASTING = "DIFFERENT_INSTANCE_NAMES", "SWITCHED_TO_BROADCASTING"


def _strategy_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval whose members run different strategies; one condition per group."""
    for interval in step.replayed:
        members = [member for member in interval.members or () if member.parameters.holders is None]
        if len({member.strategy for member in members}) > 1:
            yield _hit(interval, DIFFERENT_STRATEGIES, members, lambda member: member.strategy)


def _client_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval with unlike clients, and per time of different message models; a condition per group, cause."""
    yield from _model_hits(step)
    yield from _switch_hits(step)

    def software(member: Member) -> str:
        return " ".join(str(word) for word in (member.language, member.version) if word is not None)

    for interval in step.replayed:
        members = interval.members or ()
        unlike = {(member.language, member.version, member.strategy): member for member in members}
        cause = _difference(unlike.values()) if len(unlike) > 1 else None
        if cause:
            yield _hit(interval, cause, members, software, None if _divides(interval) else INFO)


def _hit(
    interval: RebalanceInterval,
    cause: str,
    members: Sequence[Member],
    name: Callable[[Member], str],
    severity: str | None = None,
) -> RuleHit:
    values = conflicting_values(((name(member), member.client_id) for member in members), str)
    time = interval.start, interval.end
    return RuleHit(*time, cause, view=interval.view, severity=severity, conflicting_values=values)


def _divides(interval: RebalanceInterval) -> bool:
    """Return whether different rules leave a queue of the interval without owner, or give it to several clients."""
    allocation = interval.allocation
    return allocation is not None and (
        UnassignedCause.MIXED_CLIENTS in allocation.unassigned_causes
        or DoubleOwnedCause.MIXED_CLIENTS in allocation.double_owned_causes
    )


def _model_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """The times in which clients report different message models, or a broker's answer changes back and forth."""
    cause = DIFFERENT_MESSAGE_MODELS
    for interval in step.intervals:
        for each in (each for each in interval.disagreements if each.models):
            by_model = conflicting_values(((model, client_id) for client_id, model in each.models), str)
            yield RuleHit(each.start, each.end, cause, view=interval.view, weight=1, conflicting_values=by_model)
    for spans in step.memberships.values():
        for before, now in flaps(spans, lambda membership: membership.message_model):
            models = (before.state.message_model, now.state.message_model)
            if None not in models:
                model_parties = tuple(ConflictingValue(str(model), None) for model in sorted(map(str, models)))
                yield RuleHit(now.start, now.end, cause, conflicting_values=model_parties)


def _switch_hits(step: AuditedStep) -> Iterator[RuleHit]:
    """One per interval in which a group broadcasts whose members committed offsets before, a condition per topic."""
    for topic, intervals in groupby(step.intervals, lambda interval: interval.topic):
        before, first = None, None
        for now in intervals if topic in step.history.offsets else ():
            if now.reason is not Reason.BROADCASTING:
                before, first = (now, None) if now.client_ids else (before, first)
                continue
            first = first or now
            if before and _is_other_kind(before, first) and _stand(step, topic, before.end, first.start, now.end):
                samples = step.history.offsets[topic]
                lag = samples.lag[samples.inside(now.start, now.end)][-1:]
                hint = f"Their committed offsets stand: the lag of {known_total(lag) or 0:,} is no backlog."
                models = [(MessageModel.BROADCASTING, client_id) for client_id in now.client_ids]
                models += [(MessageModel.CLUSTERING, each) for each in before.client_ids if each not in now.client_ids]
                hit = RuleHit(now.start, now.end, SWITCHED_TO_BROADCASTING, topic, view=now.view, weight=now.end)
                yield replace(hit, conflicting_values=conflicting_values(models, str), hint=hint)


def _is_other_kind(before: RebalanceInterval, now: RebalanceInterval) -> bool:
    """Return whether members of both times ran together, or have other languages: who changes the model of the same
    clients on purpose stops them all.
    """
    ran_together = not set(before.client_ids).isdisjoint(now.client_ids)
    return ran_together or set(before.languages.values()).isdisjoint(now.languages.values())


def _stand(step: AuditedStep, topic: str, before: int, start: int, end: int) -> bool:
    """Return whether committed offsets of the topic advanced until `before`, and do not in `[start, end)`."""
    samples, settled = step.history.offsets[topic], start + 2 * step.settings.cadence
    earlier, since = samples.inside(step.window.read_from, before), samples.inside(settled, end)
    return bool(samples.forward[earlier].any() and not samples.forward[since].any())


def _difference(unlike: Collection[Member]) -> str | None:
    """How clients differ in a way that can matter; None: they do not. Unknown properties make no difference."""
    rules = {_rules_of(member) for member in unlike} - {None}
    if len(rules) > 1 and len({member.strategy for member in unlike}) == 1:
        return DIFFERENT_RULES
    java = [member.version for member in unlike if member.language == "JAVA" and member.version is not None]
    is_mixed = len({version < UNIQUE_INSTANCE_NAME_VERSION for version in java}) > 1
    return DIFFERENT_INSTANCE_NAMES if is_mixed else None


def _rules_of(member: Member) -> Variant | None:
    """The client's variant of its strategy; None: unknown. Go's MACHINE_ROOM is like Java's up to 4.7.1."""
    language, version, strategy = member.language, member.version, member.strategy
    if language is None or (language == "JAVA" and version is None and strategy == MACHINE_ROOM):
        return None
    variant = variant_of(strategy, language, version)
    return Variant.JAVA_TO_4_7_1 if variant == Variant.GO and strategy == MACHINE_ROOM else variant


MIXED_STRATEGIES = Rule(
    name="MIXED_STRATEGIES",
    headline="Consumers of {groups} use different allocation strategies",
    ended="all members used one strategy again",
    meaning="Members of one group use different allocation strategies. Some queues are consumed twice, others by no "
    "consumer.",
    decided_by="Clients report different strategy classes, or one that pops and one that pulls. For a custom class the "
    "configured strategy counts. ERROR.",
    causes={DIFFERENT_STRATEGIES: Cause("always", ONE_STRATEGY)},
    evaluate=_strategy_hits,
    hit_severity=ERROR,
)
MIXED_CLIENTS = Rule(
    name="MIXED_CLIENTS",
    ended="all members were of one kind again",
    headline="Consumers of {groups} are incompatible clients",
    meaning="Clients compute the strategy differently, by language or version, or have different message models.",
    decided_by="By language and version in the broker's list (unknown: as current Java). Message models as clients "
    "report them, or a broker's that changes and changes back while all clients stay.",
    causes={
        DIFFERENT_MESSAGE_MODELS: Cause(
            "BROADCASTING and CLUSTERING (ERROR)",
            "A broadcasting consumer gets queues, but does not consume them for the group. Give each message model a "
            "separate group.",
            headline="Some consumers of {groups} broadcast, and others consume for the group",
        ),
        SWITCHED_TO_BROADCASTING: Cause(
            "all members broadcast, and offsets stand that members committed before: some of these ran at the same "
            "time, or all had another language (WARN)",
            "Each member gets every message, and commits no offset to brokers. Unless that is intended, set the "
            "message model of the new clients to clustering: in some versions broadcasting is the default. They then "
            "begin at the committed offsets, and consume again what came since, unless the group is reset.",
            headline="All consumers of {groups} broadcast now, and consumed for the group before",
            severity=WARN,
        ),
        DIFFERENT_RULES: Cause(
            "CONSISTENT_HASH or MACHINE_ROOM_NEARBY in Go and another language; MACHINE_ROOM in Go or Java ≤ 4.7.1 "
            "and newer clients (ERROR; INFO if every queue has one owner)",
            "Queues are consumed twice or by no consumer. Use one language, upgrade Java clients to a version above "
            "4.7.1, or switch to AVG.",
        ),
        DIFFERENT_INSTANCE_NAMES: Cause(
            "Java clients before and since 4.9.0 (INFO)",
            "Finish the upgrade: containers can share the ip@pid of older clients.",
        ),
    },
    evaluate=_client_hits,
    hit_severity=ERROR,
)
