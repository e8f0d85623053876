"""What a rule is: how it is explained, and what it says of one audited step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from spark_jobs.domain.audited_step import AuditedStep, Counts
from spark_jobs.domain.causes import UnassignedCause
from spark_jobs.domain.history import Connection
from spark_jobs.domain.rules.follows import Follows, Shares

#: Source tables that a run can do without; a rule may need one.
CLIENT_SNAPSHOTS = "client_snapshots"


class Party(NamedTuple):
    """Who says what; `client_ids` None: whose it is is not known."""

    name: str
    client_ids: tuple[str, ...] | None


class FindingQueue(NamedTuple):
    """A queue in the role it plays in a finding."""

    topic: str
    broker_name: str
    queue_id: int
    role: str


@dataclass(frozen=True, slots=True)
class RuleHit:
    """A condition held from `start` to `end` (microseconds), in this membership view, on this queue, or on none in
    particular. Hits of one identity (`topic`, `client_id`, `cause`) that leave no gap are one finding.

    `client_id` is the subject of the finding, `implicated` a client that it names. `seen_at`: the last snapshot that
    showed it. `minimum_seconds`: how long the condition must stand (None: until a group agrees). `severity`: INFO, WARN
    or ERROR, the worst hit counts (None: by its evidence). `measures` (numbers by name, None is unknown), `parties` and
    `hint` (a sentence behind the advice of the cause) are those of the hit with the greatest `weight`, the latest of
    equals.
    """

    start: int
    end: int
    cause: str | None = None
    topic: str | None = None
    client_id: str | None = None
    view: str | None = None
    seen_at: int | None = None
    queue: FindingQueue | None = None
    implicated: str | None = None
    connections: tuple[Connection, ...] = ()
    member_count: int | None = None
    queue_count: int | None = None
    if_deduplicated: Counts | None = None
    if_unique: Counts | None = None
    minimum_seconds: float | None = None
    severity: str | None = None
    weight: float | None = None
    measures: Mapping[str, float | None] | None = None
    parties: tuple[Party, ...] | None = None
    hint: str | None = None


class Condition(NamedTuple):
    """What a rule may look at to complete a finding: who it is about, and what it cost (None: unknown).

    `is_persistent`: two snapshots far enough apart showed it. Messages.
    """

    client_id: str | None
    cause: str | None
    connections: tuple[Connection, ...]
    is_persistent: bool
    produced: int | None
    backlog_max: int | None


@dataclass(frozen=True)
class Cause:
    """Why a finding is there: when this cause is given, and what to do then."""

    when: str
    advice: str


def severity_by_harm(condition: Condition) -> str:
    """ERROR; INFO where it is known that nothing was produced and nothing waited, or what an id does that is listed
    twice for a moment: after a reconnect the old connection lives for up to 130 s, and then ends by itself.
    """
    nothing_happened = condition.produced == 0 and not condition.backlog_max
    ends_by_itself = condition.cause == UnassignedCause.DUPLICATE_CLIENT_ID and not condition.is_persistent
    return "INFO" if nothing_happened or ends_by_itself else "ERROR"


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule: its page in docs/findings.md, and its hits in one step.

    `example` is what it finds in the recording that ships with the project. `needs` are the optional sources without
    which the rule is not evaluated. `severity` is asked where no hit says its own, `probable_cause` where the cause
    can only be told from the whole finding. `shows_persistence`: the evidence says whether it is persistent.

    `follows`: whose consequence its findings are, the likeliest root first. `spreads_by`: what findings of several
    groups share where one event caused them all (None: each group has its own). `is_blind`: of the group nothing is
    known while it stands. `headline`: an incident in a sentence, with `{groups}`, `{topics}`, `{queues}`,
    `{brokers}` and `{subjects}` as it names them.
    """

    name: str
    meaning: str
    decided_by: str
    causes: Mapping[str, Cause]
    example: str
    hits: Callable[[AuditedStep], Iterable[RuleHit]]
    needs: tuple[str, ...] = field(default=())
    severity: Callable[[Condition], str] = severity_by_harm
    probable_cause: Callable[[Condition], str] | None = None
    shows_persistence: bool = False
    follows: tuple[Follows, ...] = field(default=())
    spreads_by: Shares | None = None
    is_blind: bool = False
    headline: str = ""
