"""What a case comes to, in numbers that can be compared with what really happened: whether it is about the group that
was recorded at all, and how long a queue that changes hands stands still.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.kernel.audited_step import AuditedStep, RebalanceInterval
from spark_jobs.domain.kernel.members import queues_per_connection
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.kernel.triggers import moved_between
from spark_jobs.domain.model.history import OffsetReadings
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import count, did_you_mean, names_text
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.utilisation import Bottleneck
from spark_jobs.domain.what_if.assignments import Assignment, assignments_in, rebalances
from spark_jobs.domain.what_if.autoscale import autoscaled
from spark_jobs.domain.what_if.cases import AS_IT_WAS, Case, origin
from spark_jobs.domain.what_if.fluid import Amounts
from spark_jobs.domain.what_if.pace import MemberPace, members_of, uncommitted_seconds
from spark_jobs.domain.what_if.recorded import BacklogCourse, Recorded, recorded, spans_of, within
from spark_jobs.domain.what_if.simulation import KnownMembers, Simulation, simulate
from spark_jobs.errors import CaseError

RECORDED = "really happened"
NO_BACKLOG_KNOWN = "no queue has a known backlog while the group was replayed"
NO_PACE = "no member was seen to consume, so the pace is unknown: set it with --speed CLIENT_ID=MESSAGES_PER_SECOND"


class Scaled(NamedTuple):
    """What an autoscaler did: the fewest and the most connections at any time, how often it changed their number, and
    the hours of all of them together.
    """

    fewest: int
    most: int
    changes: int
    member_hours: float


@dataclass(frozen=True)
class CaseOutcome:
    """One case over the recorded time. Queues and members: the mean over time, weighed by how long each state stood;
    `busiest`: the most queues of one connection at any time; `moves`: queues that moved in all `rebalances` together.

    Messages: None is unknown, and `unknown` says why. `at_most`: members had a backlog that do not tell how fast they
    are, and were never seen at their limit, so theirs may have been smaller. `limited_by`: what held back most of the
    members with a backlog, their `LISTENER` or their `PULLS`; None: there were none. `drained_after`: seconds from the
    highest backlog until a tenth of it was left, or what is allowed; None: not by the end. `curve`: messages at each
    time of the comparison, NaN where nothing is known. `scaled`: of a case with an autoscaler.
    """

    label: str
    members: float
    unowned: float
    owned_twice: float
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
    """What really happened, and every case. `times`: microseconds, of all curves; `error`: how far the model is from
    the recorded backlog when it plays what really happened, the mean over time, in messages; None: unknown. `members`:
    how fast each of them could consume.
    """

    times: Sequence[int]
    recorded: CaseOutcome
    cases: Sequence[CaseOutcome]
    error: float | None
    members: Sequence[MemberPace] = ()


def compare(steps: Sequence[AuditedStep], cases: Iterable[Case], configured: StrategySettings) -> Comparison | None:
    """The steps are those of one group, in order. None: no topic was replayed.

    Raises `StrategyError` where the settings of a strategy are missing, `CaseError` as `check_case` does.
    """
    pause = hand_over_pause(steps) or 0
    found = recorded(steps, pause)
    if found is None:
        return None
    known = KnownMembers(members_of(found), pause, uncommitted_seconds(found.course))
    owned = assignments_in(AS_IT_WAS, found, Replays(configured))
    again = simulate(AS_IT_WAS, owned, found, known)
    real = _outcome(RECORDED, owned, found, _really(found, owned))
    played = []
    for case in cases:
        check_case(case, found)
        replays = Replays(case.settings(configured))
        owned = assignments_in(case, found, replays)
        one = autoscaled(case, found, known, replays) if case.scaler else simulate(case, owned, found, known)
        outcome = _outcome(case.label, one.owned if one else owned, found, one)
        scaled = _Shares(one.owned).scaled if one and case.scaler else None
        played.append(replace(outcome, scaled=scaled))
    return Comparison(found.course.times.tolist(), real, played, _error(found, again), known.members.of_each())


@dataclass(frozen=True)
class RecordedOutcome:
    """What was recorded over some time. `in_rate`, `out_rate`: messages a second, None where it is unknown; `replayed`:
    seconds in which the owners are known, of any topic.
    """

    outcome: CaseOutcome
    in_rate: float | None
    out_rate: float | None
    replayed: float


def happened(
    steps: Sequence[AuditedStep], start: int, end: int, configured: StrategySettings, label: str
) -> RecordedOutcome | None:
    """From `start` to `end` (microseconds) of these steps, which are those of one group, in order. None: no topic was
    replayed then.
    """
    every = recorded(steps)
    found = every and within(every, start, end)
    if found is None:
        return None
    owned = assignments_in(AS_IT_WAS, found, Replays(configured))
    spans = sum(last - first for first, last, replayed in spans_of(owned) if replayed)
    course, outcome = found.course, _outcome(label, owned, found, _really(found, owned))
    return RecordedOutcome(outcome, _rate(course, course.produced), _rate(course, course.consumed), spans / SECOND)


def _rate(course: BacklogCourse, amounts: Amounts) -> float | None:
    """Messages a second of all queues together, each over the time in which it is known."""
    rates = course.rates(amounts)
    known = ~np.isnan(rates)
    return float(rates[known].sum()) if known.any() else None


def _error(found: Recorded, again: Simulation | None) -> float | None:
    if again is None or np.isnan(again.waiting).all():
        return None
    return float(np.nanmean(np.abs(again.waiting - found.course.total)))


def _really(found: Recorded, owned: Mapping[str, Sequence[Assignment]]) -> Simulation:
    """What was recorded, in the form of what is played."""
    course, twice = found.course, 0.0
    for assignment in (replayed for of_topic in owned.values() for replayed in of_topic):
        first, last = np.searchsorted(course.times, (assignment.start, assignment.end)).clip(0, len(course.times) - 1)
        for queue, owners in zip(assignment.allocation.queues, assignment.allocation.owners, strict=True):
            column = course.columns.get(MessageQueue(assignment.topic, *queue))
            if len(owners) > 1 and column is not None:
                consumed = course.consumed[last, column] - course.consumed[first, column]
                twice += float(consumed) * (len(owners) - 1)
    return Simulation(owned, course.total, twice)


def _outcome(
    label: str,
    owned: Mapping[str, Sequence[Assignment]],
    found: Recorded,
    played: Simulation | None,
) -> CaseOutcome:
    shares = _Shares(owned)
    moved = [moved_between(before.allocation, after.allocation).moved for before, after in _rebalances(owned)]
    members, unowned, owned_twice, idle = shares.means()
    counted = CaseOutcome(label, members, unowned, owned_twice, idle, shares.busiest, sum(moved), len(moved))
    if not found.course.known.any() or (played is not None and np.isnan(played.waiting).all()):
        return replace(counted, unknown=NO_BACKLOG_KNOWN)
    if played is None:
        return replace(counted, unknown=NO_PACE)
    known = np.flatnonzero(~np.isnan(played.waiting))
    curve, times = played.waiting[known], found.course.times[known]
    return replace(
        counted,
        highest=round(float(curve.max())),
        last=round(float(curve[-1])),
        drained_after=drained_after(curve, times, found.allowed_lag),
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


def _rebalances(owned: Mapping[str, Sequence[Assignment]]) -> Iterator[tuple[Assignment, Assignment]]:
    return (pair for of_topic in owned.values() for pair in rebalances(of_topic))


class _Shares:
    """Queues and members over all topics, span by span; each distinct state is counted once."""

    def __init__(self, owned: Mapping[str, Sequence[Assignment]]) -> None:
        known: dict[tuple[int, ...], tuple[int, int, int, int, int]] = {}
        self._seconds, self._counts = [], []
        for start, end, replayed in spans_of(owned):
            if replayed:
                state = tuple(id(assignment.allocation) for assignment in replayed)
                if state not in known:
                    known[state] = _counts(replayed)
                self._seconds.append(end - start)
                self._counts.append(known[state])

    @property
    def busiest(self) -> int:
        return max((one[-1] for one in self._counts), default=0)

    @property
    def scaled(self) -> Scaled:
        """As the number of members was."""
        sizes = [counts[0] for counts in self._counts]
        changes = sum(before != after for before, after in pairwise(sizes))
        hours = sum(size * micros for size, micros in zip(sizes, self._seconds, strict=True)) / (3600 * SECOND)
        return Scaled(min(sizes), max(sizes), changes, hours)

    def means(self) -> tuple[float, ...]:
        """Members, queues without and with several owners, idle members."""
        found = np.average(np.array(self._counts, float)[:, :4], axis=0, weights=np.array(self._seconds, float))
        return tuple(found.tolist())


def _counts(replayed: Sequence[Assignment]) -> tuple[int, int, int, int, int]:
    """Members, queues without and with several owners, idle members, and the most queues of one connection."""
    queues = queues_per_connection((assignment.client_ids, assignment.allocation) for assignment in replayed)
    counts = [assignment.allocation.counts for assignment in replayed]
    return (
        len(queues),
        sum(one.unassigned_queues for one in counts),
        sum(one.double_owned_queues for one in counts),
        sum(count == 0 for count in queues.values()),
        max(queues.values(), default=0),
    )


#: Members that an error names, at most.
_NAMED = 8


def check_case(case: Case, found: Recorded) -> None:
    """Raises `CaseError` for a client id that no member has, or where more members leave than there ever were."""
    intervals = [replayed.interval for of_topic in found.replayed.values() for replayed in of_topic]
    seen = {member.client_id for interval in intervals for member in interval.members or ()}
    there = {member.client_id for interval in intervals for member in case.inputs(interval).members}
    _check_ids(case, case.without, seen)
    _check_ids(case, [*case.speed, *filter(None, case.changes)], there.union(map(origin, there)))
    left = max(sum(member.client_id not in case.without for member in interval.members or ()) for interval in intervals)
    if case.members and case.members.sign == "-" and case.members.number > left:
        raise CaseError(f"{case.label}: there were never more than {count(left, 'member')}")


def _check_ids(case: Case, named: Iterable[str], known: Collection[str]) -> None:
    for name in sorted(set(named).difference(known)):
        hint = did_you_mean(name, known) or f"the members were {names_text(sorted(known), _NAMED)}"
        raise CaseError(f"{case.label}: there was no member {name}: {hint}")


def hand_over_pause(steps: Sequence[AuditedStep]) -> int | None:
    """Microseconds: the median; None: of no queue that was handed over it is known.

    From the rebalance to the last reading before the queue moved, if messages waited in it all that time; 0 where it
    moved between the first two readings.
    """
    stood = [
        one
        for step in steps
        for rebalance in step.rebalances
        if (readings := step.history.offsets.get(rebalance.interval.topic))
        for one in _stood(readings, rebalance.interval)
    ]
    return int(np.median(stood)) if stood else None


def _stood(readings: OffsetReadings, interval: RebalanceInterval) -> Iterator[int]:
    """Of each queue that the interval's beginning handed over."""
    rows = readings.inside(interval.start, interval.end)
    times = readings.times[rows]
    for queue in interval.moves.handed_over if interval.moves else ():
        place = readings.columns.get(queue)
        if place is not None:
            offsets, lag = readings.consumed_to[rows, place], readings.lag[rows, place]
            moved = np.flatnonzero(np.diff(offsets))
            if len(moved) and (lag[: moved[0] + 1] > 0).all():
                yield int(times[moved[0]] - interval.start) if moved[0] else 0
