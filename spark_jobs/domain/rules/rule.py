"""A rule: its explanation, and the function that gives its hits in one audited step."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.finding import Condition, Finding, RuleHit
from spark_jobs.domain.model.severities import ERROR, INFO
from spark_jobs.domain.phrases import count
from spark_jobs.domain.rules.links import LINKS, Follows, Shares

#: Source tables that a run can do without; a rule may need one.
CLIENT_SNAPSHOTS = "client_snapshots"


@dataclass(frozen=True)
class Cause:
    """Why a finding is there: when this cause is given, and what to do then. `headline`, `ended`, `severity`, `lasts`:
    instead of its rule's; `commands`: what to type, as `rules.commands` has it.
    """

    when: str
    advice: str
    headline: str = ""
    commands: tuple[str, ...] = ()
    severity: str | None = None
    lasts: float | str | None = None
    ended: str = ""


#: Of hits whose cause is found later.
_NO_CAUSE = Cause("", "")


def severity_by_harm(condition: Condition) -> str:
    """ERROR; INFO if no message was affected, or if a repeated client id ends by itself, 130 s after a reconnect."""
    nothing_happened = condition.produced == 0 and not condition.backlog_max
    ends_by_itself = condition.cause == UnassignedCause.DUPLICATE_CLIENT_ID and not condition.is_persistent
    return INFO if nothing_happened or ends_by_itself else ERROR


def counting(template: str, **things: str) -> Callable[[Finding], str]:
    """A detail with the numbers of things that measures of these names count; empty if one is unknown or 0."""

    def detail(finding: Finding) -> str:
        numbers = [(finding.evidence.measured.get(name), thing) for name, thing in things.items()]
        counts = [count(int(number), thing) for number, thing in numbers if number]
        return template.format(*counts) if len(counts) == len(numbers) else ""

    return detail


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule: its page in docs/findings.md, and its hits in one step.

    `evaluate` finds the hits. Those that give none themselves have the severity `hit_severity` (None: `severity` rates
    the whole finding), and must last for `lasts`: seconds, or the threshold of that name (None: until a group agrees).
    `needs`: the optional sources without which the rule is not evaluated. `probable_cause`: the cause, if only the
    whole finding shows it. `shows_persistence`: the evidence says whether it is persistent.

    `spreads_by`: what findings of several groups share if one event caused them all (None: each group has its own).
    `continues`: the rule whose condition a finding with the same cause may continue in the next step, as only the step
    in which it began shows which of both it is. `per_broker`: each broker has its own findings. `is_blind`: the group's
    state is unknown while it lasts. `is_event`: its findings open an incident, even INFO. `headline`: an incident in a
    sentence, with `{groups}`, `{topics}`, `{queues}`, `{brokers}`, `{subjects}` and `{members}` as it names them;
    `{members:has|have}` agrees with their number. `detail`: what the worst finding adds to the headline after a colon.
    `ended`: a clause, what happened when it is over; empty: that is not known, or something is left to do. `broker`:
    the only broker, or all of them, that a finding points to, None: to none.
    """

    name: str
    meaning: str
    decided_by: str
    causes: Mapping[str, Cause]
    evaluate: Callable[[AuditedStep], Iterable[RuleHit]]
    hit_severity: str | None = None
    lasts: float | str | None = None
    needs: tuple[str, ...] = ()
    severity: Callable[[Condition], str] = severity_by_harm
    probable_cause: Callable[[Condition], str] | None = None
    shows_persistence: bool = False
    spreads_by: Shares | None = None
    continues: str | None = None
    per_broker: bool = False
    is_blind: bool = False
    is_event: bool = False
    headline: str = ""
    detail: Callable[[Finding], str] | None = None
    ended: str = ""
    broker: Callable[[Finding], str | None] = lambda _: None

    @property
    def follows(self) -> tuple[Follows, ...]:
        """Whose symptom its findings are, the likeliest root cause first."""
        return LINKS.get(self.name, ())

    def hits(self, step: AuditedStep) -> list[RuleHit]:
        """The hits in a step, with the severity and the minimum duration that their cause or the rule declares."""
        return [self._declared(hit, step) for hit in self.evaluate(step)]

    def _declared(self, hit: RuleHit, step: AuditedStep) -> RuleHit:
        cause = self.cause_of(hit.cause)
        lasts = self.lasts if cause.lasts is None else cause.lasts
        if isinstance(lasts, str):
            lasts = getattr(step.settings.thresholds, lasts)
        return replace(
            hit,
            severity=hit.severity or cause.severity or self.hit_severity,
            minimum_seconds=lasts if hit.minimum_seconds is None else hit.minimum_seconds,
        )

    def headline_of(self, cause: str | None) -> str:
        """The headline of an incident with this cause."""
        return self.cause_of(cause).headline or self.headline

    def cause_of(self, name: str | None) -> Cause:
        """The cause of this name; one that declares nothing, if it is found later."""
        return self.causes.get(name or "", _NO_CAUSE)
