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
from spark_jobs.what_if.cases import UNCHANGED_CASE, Case, assignments_in, recorded_id
from spark_jobs.what_if.pace import MemberPace, hand_over_pause, members_of, uncommitted_seconds
from spark_jobs.what_if.recorded import Assignment, Messages, Recorded, recorded, spans_of
from spark_jobs.what_if.simulation import Simulation, play

NO_BACKLOG_KNOWN = "no queue has a known backlog while the group was replayed"
#: The model may be wrong by this part of the highest backlog, or by so many messages.
_ERROR, _ERROR_MESSAGES = 0.1, 20
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
    curve: Messages | None = field(default=None, repr=False, compare=False)


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
    as_configured = known.under(configured)
    again, real = play(UNCHANGED_CASE, history, members, as_configured), recorded_outcome(history, as_configured)
    outcomes = []
    for case in cases:
        _check_case(case, history)
        played = play(case, history, members, known.under(case.settings(configured)))
        outcomes.append(outcome_of(case, played, history))
    return Comparison(history.course.times.tolist(), real, outcomes, _error(history, again), members.member_paces())


def recorded_outcome(history: Recorded, replays: Replays) -> CaseOutcome:
    """The outcome that really happened, by the recorded backlog."""
    course, owned, twice = history.course, assignments_in(UNCHANGED_CASE, history, replays), 0.0
    for assignment in (assignment for of_topic in owned.values() for assignment in of_topic):
        first, last = np.searchsorted(course.times, (assignment.start, assignment.end)).clip(0, len(course.times) - 1)
        for column, owners in course.by_column(assignment, assignment.allocation.owners):
            if len(owners) > 1:
                consumed = course.consumed[last, column] - course.consumed[first, column]
                twice += float(consumed) * (len(owners) - 1)
    return outcome_of(Case("really happened"), Simulation(course, owned, course.total, twice), history)


def _error(history: Recorded, again: Simulation) -> float | None:
    if np.isnan(again.waiting).all():
        return None
    return float(np.nanmean(np.abs(again.waiting - history.course.total)))


def outcome_of(case: Case, played: Simulation, history: Recorded) -> CaseOutcome:
    """The outcome of a case that was played over the history."""
    lengths, shares = _shares(played.owned)
    members, unassigned_queues, double_owned_queues, idle, _ = np.average(shares, axis=0, weights=lengths).tolist()
    moves = [
        moved_between(before.allocation, after.allocation).moved or 0
        for assignments in played.owned.values()
        for before, after in pairwise(assignments)
        if before.end == after.start and before.allocation is not after.allocation
    ]
    busiest = int(shares[:, -1].max())
    counted = CaseOutcome(
        case.label, members, unassigned_queues, double_owned_queues, idle, busiest, sum(moves), len(moves)
    )
    if case.scaler and played.paced:
        counted = replace(counted, scaled=_scaled(lengths, shares[:, 0]))
    known = np.flatnonzero(~np.isnan(played.waiting))
    if not len(known):
        unknown = NO_BACKLOG_KNOWN if played.paced or not history.course.known.any() else NO_PACE
        return replace(counted, unknown=unknown)
    curve, times = played.waiting[known], history.course.times[known]
    return replace(
        counted,
        highest=round(float(curve.max())),
        last=round(float(curve[-1])),
        drained_after=_drained_after(curve, times, history.allowed_lag),
        consumed_twice=round(played.twice),
        at_most=played.at_most,
        limited_by=_limited_by(played),
        curve=played.waiting,
    )


def model_error(highest: int) -> float:
    """By how many messages the model may be wrong where this is the highest backlog."""
    return max(_ERROR * highest, _ERROR_MESSAGES)


def _limited_by(played: Simulation) -> str | None:
    if not played.strained:
        return None
    return Bottleneck.PULLS if 2 * len(played.by_pulls) > len(played.strained) else Bottleneck.LISTENER


def _drained_after(curve: Messages, times: NDArray[np.int64], allowed_lag: int) -> int | None:
    """Seconds from the highest backlog until there is hardly any."""
    top = int(np.argmax(curve))
    drained = np.flatnonzero(curve[top:] <= max(allowed_lag, curve[top] / 10))
    return int(times[top + drained[0]] - times[top]) // SECOND if len(drained) else None


def _shares(owned: Mapping[str, Sequence[Assignment]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Microseconds and share over all topics of every span with a replayed topic; each state is counted once."""
    share_of_state: dict[tuple[int, ...], tuple[int, ...]] = {}
    lengths, shares = [], []
    for start, end, replayed in spans_of(owned):
        if replayed:
            state = tuple(id(assignment.allocation) for assignment in replayed)
            if state not in share_of_state:
                share_of_state[state] = _share(replayed)
            lengths.append(end - start)
            shares.append(share_of_state[state])
    return np.array(lengths), np.array(shares)


def _share(replayed: Sequence[Assignment]) -> tuple[int, ...]:
    """Members, queues without and with several owners, idle members, and the most queues of one connection."""
    queues = queues_per_connection((assignment.client_ids, assignment.allocation) for assignment in replayed)
    counts = [assignment.allocation.counts for assignment in replayed]
    return (
        len(queues),
        sum(of_topic.unassigned_queues for of_topic in counts),
        sum(of_topic.double_owned_queues for of_topic in counts),
        sum(number == 0 for number in queues.values()),
        max(queues.values(), default=0),
    )


def _scaled(lengths: NDArray[np.int64], sizes: NDArray[np.int64]) -> Scaled:
    """`sizes`: connections in each of the spans of these lengths."""
    hours = int((lengths * sizes).sum()) / (3600 * SECOND)
    return Scaled(int(sizes.min()), int(sizes.max()), int(np.count_nonzero(np.diff(sizes))), hours)


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
