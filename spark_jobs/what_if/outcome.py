"""The outcome of a case, in numbers that can be compared with what really happened."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.members import queues_per_connection
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count, did_you_mean, names_text
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.utilization import Bottleneck
from spark_jobs.errors import CaseError
from spark_jobs.what_if.autoscale import autoscaled
from spark_jobs.what_if.cases import UNCHANGED_CASE, Case, recorded_id
from spark_jobs.what_if.fluid import Amounts
from spark_jobs.what_if.pace import MemberPace, hand_over_pause, members_of, uncommitted_seconds
from spark_jobs.what_if.recorded import Assignment, BacklogCourse, Recorded, recorded, spans_of, within
from spark_jobs.what_if.simulation import Simulation, assignments_in, simulate

RECORDED = "really happened"
NO_BACKLOG_KNOWN = "no queue has a known backlog while the group was replayed"
NO_PACE = "no member was seen to consume, so the pace is unknown: set it with --speed CLIENT_ID=MESSAGES_PER_SECOND"


class Scaled(NamedTuple):
    """Actions of an autoscaler: fewest and most connections, changes of their number, and hours of all together."""

    fewest: int
    most: int
    changes: int
    member_hours: float


@dataclass(frozen=True)
class CaseOutcome:
    """One case over the recorded time. Queues and members: the mean, weighed by time; `busiest`: the most queues of one
    connection; `moves`: queues moved in all `rebalances`. Messages: None is unknown, and `unknown` says why. `at_most`:
    members with a backlog and no known limit may have had less. `limited_by`: `LISTENER` or `PULLS` of most members
    with a backlog, None: there were none. `drained_after`: seconds from the highest backlog until a tenth of it, or
    what is allowed, was left; None: not by the end. `curve`: messages at each time of the comparison, NaN: unknown.
    """

    label: str
    members: float
    unassigned_queues: float
    double_owned_queues: float
    idle: float
    busiest: int
    moves: int
    rebalances: int
    highest: int | None = None
    last: int | None = None
    drained_after: int | None = None
    consumed_twice: int | None = None
    at_most: bool = False
    limited_by: str | None = None
    scaled: Scaled | None = None
    unknown: str | None = None
    curve: Amounts | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Comparison:
    """The recorded outcome, and that of every case. `times`: microseconds, of all curves; `error`: how far the model is
    from the recorded backlog when it plays what really happened, the mean over time, in messages; None: unknown.
    `members`: how fast each of them could consume.
    """

    times: Sequence[int] = field(repr=False)
    recorded: CaseOutcome
    cases: Sequence[CaseOutcome]
    error: float | None
    members: Sequence[MemberPace] = ()


def compare(steps: Sequence[AuditedStep], cases: Iterable[Case], configured: StrategySettings) -> Comparison | None:
    """None: no topic was replayed. Raises `StrategyError` for missing settings, `CaseError` as `_check_case`."""
    pause = hand_over_pause(steps)
    history = recorded(steps, pause)
    if history is None:
        return None
    members = replace(members_of(history), pause=pause, uncommitted=uncommitted_seconds(history.course))
    known = steps[0].replays or Replays(configured)
    owned = assignments_in(UNCHANGED_CASE, history, known.under(configured))
    again = simulate(UNCHANGED_CASE, owned, history, members)
    real = _outcome(RECORDED, owned, history, _really(history, owned))
    outcomes = []
    for case in cases:
        _check_case(case, history)
        replays = known.under(case.settings(configured))
        owned = assignments_in(case, history, replays)
        played = autoscaled(case, history, members, replays) if case.scaler else simulate(case, owned, history, members)
        outcome = _outcome(case.label, played.owned if played else owned, history, played)
        outcomes.append(replace(outcome, scaled=_scaled(played.owned)) if played and case.scaler else outcome)
    return Comparison(history.course.times.tolist(), real, outcomes, _error(history, again), members.member_paces())


@dataclass(frozen=True)
class RecordedOutcome:
    """Outcome of the recording over some time; rates None: unknown; `replayed`: seconds in which owners are known."""

    outcome: CaseOutcome
    produced_messages_per_second: float | None
    consumed_messages_per_second: float | None
    replayed: float


def recorded_outcome(
    steps: Sequence[AuditedStep], start: int, end: int, configured: StrategySettings, label: str
) -> RecordedOutcome | None:
    """From `start` to `end` (microseconds) of the steps of one group, in order. None: no topic was replayed then."""
    recording = recorded(steps)
    history = recording and within(recording, start, end)
    if history is None:
        return None
    owned = assignments_in(UNCHANGED_CASE, history, Replays(configured))
    replayed = sum(length for length, _ in _shares(owned)) / SECOND
    course, outcome = history.course, _outcome(label, owned, history, _really(history, owned))
    return RecordedOutcome(outcome, _rate(course, course.produced), _rate(course, course.consumed), replayed)


def _rate(course: BacklogCourse, amounts: Amounts) -> float | None:
    """Messages a second of all queues together, each over the time in which it is known."""
    rates = course.rates(amounts)
    known = ~np.isnan(rates)
    return float(rates[known].sum()) if known.any() else None


def _error(history: Recorded, again: Simulation | None) -> float | None:
    if again is None or np.isnan(again.waiting).all():
        return None
    return float(np.nanmean(np.abs(again.waiting - history.course.total)))


def _really(history: Recorded, owned: Mapping[str, Sequence[Assignment]]) -> Simulation:
    """The recorded backlog in the form of a simulation."""
    course, twice = history.course, 0.0
    for assignment in (assignment for of_topic in owned.values() for assignment in of_topic):
        first, last = np.searchsorted(course.times, (assignment.start, assignment.end)).clip(0, len(course.times) - 1)
        for column, owners in course.by_column(assignment, assignment.allocation.owners):
            if len(owners) > 1:
                consumed = course.consumed[last, column] - course.consumed[first, column]
                twice += float(consumed) * (len(owners) - 1)
    return Simulation(owned, course.total, twice)


def _outcome(
    label: str, owned: Mapping[str, Sequence[Assignment]], history: Recorded, played: Simulation | None
) -> CaseOutcome:
    lengths, shares = zip(*_shares(owned), strict=True)
    members, unassigned_queues, double_owned_queues, idle = np.average(
        np.array(shares, float)[:, :4], axis=0, weights=np.array(lengths, float)
    ).tolist()
    moves = [
        moved_between(before.allocation, after.allocation).moved
        for assignments in owned.values()
        for before, after in pairwise(assignments)
        if before.end == after.start and before.allocation is not after.allocation
    ]
    busiest = max(share.busiest for share in shares)
    counted = CaseOutcome(label, members, unassigned_queues, double_owned_queues, idle, busiest, sum(moves), len(moves))
    if not history.course.known.any() or (played is not None and np.isnan(played.waiting).all()):
        return replace(counted, unknown=NO_BACKLOG_KNOWN)
    if played is None:
        return replace(counted, unknown=NO_PACE)
    known = np.flatnonzero(~np.isnan(played.waiting))
    curve, times = played.waiting[known], history.course.times[known]
    return replace(
        counted,
        highest=round(float(curve.max())),
        last=round(float(curve[-1])),
        drained_after=drained_after(curve, times, history.allowed_lag),
        consumed_twice=round(played.twice),
        at_most=played.at_most,
        limited_by=_limited_by(played),
        curve=played.waiting,
    )


def _limited_by(played: Simulation) -> str | None:
    if not played.strained:
        return None
    return Bottleneck.PULLS if 2 * len(played.by_pulls) > len(played.strained) else Bottleneck.LISTENER


def drained_after(curve: Amounts, times: NDArray[np.int64], allowed_lag: int) -> int | None:
    """Seconds from the highest backlog until there is hardly any."""
    top = int(np.argmax(curve))
    drained = np.flatnonzero(curve[top:] <= max(allowed_lag, curve[top] / 10))
    return int(times[top + drained[0]] - times[top]) // SECOND if len(drained) else None


class _Share(NamedTuple):
    """Members, queues without and with several owners, idle members, and the most queues of one connection."""

    members: int
    unassigned_queues: int
    double_owned_queues: int
    idle: int
    busiest: int


def _shares(owned: Mapping[str, Sequence[Assignment]]) -> list[tuple[int, _Share]]:
    """Microseconds and share over all topics of every span with a replayed topic; each state is counted once."""
    share_of_state: dict[tuple[int, ...], _Share] = {}
    shares = []
    for start, end, replayed in spans_of(owned):
        if replayed:
            state = tuple(id(assignment.allocation) for assignment in replayed)
            if state not in share_of_state:
                share_of_state[state] = _share(replayed)
            shares.append((end - start, share_of_state[state]))
    return shares


def _share(replayed: Sequence[Assignment]) -> _Share:
    queues = queues_per_connection((assignment.client_ids, assignment.allocation) for assignment in replayed)
    counts = [assignment.allocation.counts for assignment in replayed]
    return _Share(
        len(queues),
        sum(of_topic.unassigned_queues for of_topic in counts),
        sum(of_topic.double_owned_queues for of_topic in counts),
        sum(number == 0 for number in queues.values()),
        max(queues.values(), default=0),
    )


def _scaled(owned: Mapping[str, Sequence[Assignment]]) -> Scaled:
    shares = _shares(owned)
    sizes = [share.members for _, share in shares]
    changes = sum(before != after for before, after in pairwise(sizes))
    hours = sum(length * share.members for length, share in shares) / (3600 * SECOND)
    return Scaled(min(sizes), max(sizes), changes, hours)


#: Members that an error names, at most.
_NAMED = 8


def _check_case(case: Case, history: Recorded) -> None:
    """Raises `CaseError` for a client id that no member has, or where more members leave than there ever were."""
    intervals = history.intervals
    in_case = {member.client_id for interval in intervals for member in case.inputs(interval).members}
    _check_ids(case, case.without, history.client_ids)
    _check_ids(case, [*case.speed, *filter(None, case.changes)], in_case.union(map(recorded_id, in_case)))
    most_members = max(
        sum(member.client_id not in case.without for member in interval.members or ()) for interval in intervals
    )
    if case.members and case.members.sign == "-" and case.members.number > most_members:
        raise CaseError(f"{case.label}: there were never more than {count(most_members, 'member')}")


def _check_ids(case: Case, named: Iterable[str], known: Collection[str]) -> None:
    for name in sorted(set(named).difference(known)):
        hint = did_you_mean(name, known) or f"the members were {names_text(sorted(known), _NAMED)}"
        raise CaseError(f"{case.label}: there was no member {name}: {hint}")
