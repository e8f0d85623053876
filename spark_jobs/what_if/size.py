"""The fewest members with which a group's recorded time would have gone well, and those that each of a fleet needs."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.caching import cached_with_value
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import percent_text
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.status.utilization import Bottleneck
from spark_jobs.what_if.cases import Case, Change
from spark_jobs.what_if.fluid import Places
from spark_jobs.what_if.outcome import CaseOutcome, compare, model_error, outcome_of
from spark_jobs.what_if.pace import Members, members_of, uncommitted_seconds
from spark_jobs.what_if.recorded import BacklogCourse, Messages, Recorded, recorded
from spark_jobs.what_if.simulation import Simulation, play

#: A peak is the highest rate over so many seconds, looked at once per so many.
_PEAK_SECONDS, _EVERY_SECONDS = 300, 60
#: No group is tried with more members than this, or more times its queues.
_MOST_MEMBERS, _MOST_QUEUES = 1024, 8


class Goals(NamedTuple):
    """Goals for a group; None: it does not matter. `utilization`: of the busiest member at the peak, a part of 1;
    `backlog`: messages at the worst moment; `drained`: seconds from then until hardly any are left. Whatever is wanted,
    all queues that get messages have an owner.
    """

    utilization: float | None = 0.7
    backlog: int | None = None
    drained: float | None = None


class SizeOutcome(NamedTuple):
    """The outcome of a group with this number of connections and unique ids, all the time. `queues`: readable ones of
    the topic with most; `unassigned_queues`: those without an owner that get messages; others as in `Goals`; None:
    unknown, or not drained. `by_pulls`: the busiest member's pulls are nearer to their limit than its listener.
    """

    members: int
    queues: int
    unassigned_queues: int
    utilization: float | None
    by_pulls: bool
    backlog: int | None
    drained: int | None
    at_most: bool


class GoalSize(NamedTuple):
    """One goal, and the smallest group that reaches it; None: none that was tried does."""

    goal: str
    wanted: float
    group: SizeOutcome | None


@dataclass(frozen=True)
class Size:
    """The size that a group needs. `members` and `queues` it had at the end; `peak`: messages a second produced in its
    busiest five minutes; None: unknown. `today`: the outcome at its present size. `observed_share`: part of the time in
    which snapshots cover it; `reason`: why `needs` are no recommendation, None: they are.
    """

    members: int
    queues: int
    peak: float | None
    today: SizeOutcome
    needs: Sequence[GoalSize]
    observed_share: float | None = None
    reason: str | None = None


def size(steps: Sequence[AuditedStep], goals: Goals, load: float, configured: StrategySettings) -> Size | None:
    """The size for one group, by its steps in order, with `load` times the messages; None: no topic was replayed. Not
    for faults: ids are unique, and all members subscribe to all topics and consume all the time.
    """
    history = recorded(steps)
    if history is None:
        return None
    last = [spans[-1].interval for spans in history.replayed.values()]
    queues = max(len(interval.queues or ()) for interval in last)
    uncommitted = uncommitted_seconds(history.course)
    known = replace(members_of(history), stalled_times=(), uncommitted=uncommitted)
    trials = _Trials(history, known, Replays(configured), queues, load)
    members = max(len(interval.members or ()) for interval in last)
    wanted = [(goal, number) for goal, number in goals._asdict().items() if number is not None]
    needs = [GoalSize(goal, number, trials.smallest(goal, number)) for goal, number in wanted]
    course = replace(history.course, produced=history.course.produced * load)
    peaks = _peak_windows(course)[1].sum(axis=1)
    peak = float(peaks.max()) if peaks.size else None
    return Size(members, queues, peak, trials.of(members, 1), needs)


def _of_size(members: int, times: int, load: float) -> Case:
    """So many members, and so many times the queues."""
    queues = Change("x", times) if times > 1 else None
    return Case(f"{members}", members=Change("=", members), queues=queues, load=load)


@dataclass(frozen=True)
class _Trials:
    """The group with other numbers of members, each tried once; `queues`: of the topic with most."""

    history: Recorded
    members: Members
    replays: Replays
    queues: int
    load: float

    def smallest(self, goal: str, wanted: float) -> SizeOutcome | None:
        """The fewest members that reach the goal: twice as many until it is enough, then in between."""
        most = min(_MOST_MEMBERS, _MOST_QUEUES * max(self.queues, 1))
        too_few, enough = 0, 1
        while not self._reaches(goal, wanted, self._with_queues(enough)):
            if enough >= most:
                return None
            too_few, enough = enough, min(2 * enough, most)
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            is_enough = self._reaches(goal, wanted, self._with_queues(middle))
            too_few, enough = (too_few, middle) if is_enough else (middle, enough)
        return self._with_queues(enough)

    def _reaches(self, goal: str, wanted: float, outcome: SizeOutcome) -> bool:
        if outcome.unassigned_queues:
            return False
        if goal == "utilization":
            return outcome.utilization is not None and outcome.utilization <= wanted
        if outcome.backlog is None or outcome.at_most:
            return False
        if goal == "backlog":
            return outcome.backlog <= wanted
        # What is allowed in each of the queues is no backlog, and need not be drained.
        allowed = self.history.allowed_lag * len(self.history.course.queues)
        return outcome.backlog <= allowed or (outcome.drained is not None and outcome.drained <= wanted)

    def _with_queues(self, members: int) -> SizeOutcome:
        """More members than queues get so many times the queues that each has one."""
        return self.of(members, -(-members // max(self.queues, 1)))

    @cached_with_value
    def of(self, members: int, times: int) -> SizeOutcome:
        """So many members, and so many times the queues."""
        case = replace(_of_size(members, times, self.load), unique_ids=True, same_subscriptions=True)
        played = play(case, self.history, self.members, self.replays)
        outcome = outcome_of(case, played, self.history)
        at_peak = self._at_peak(case, played)
        queues = self.queues * times
        return SizeOutcome(members, queues, *at_peak, outcome.highest, outcome.drained_after, outcome.at_most)

    def _at_peak(self, case: Case, played: Simulation) -> tuple[int, float | None, bool]:
        """Queues without an owner that get messages, how busy the busiest member is in its busiest five minutes, and
        whether by its pulls: as the queues were shared at the end.
        """
        times, rates = _peak_windows(played.course)
        columns_of_client: dict[str, list[int]] = defaultdict(list)
        unassigned_queues = 0
        for last in (assignments[-1] for assignments in played.owned.values()):
            for column, client_ids in played.course.by_column(last, last.allocation.owner_ids):
                unassigned_queues += not client_ids and bool(rates[:, column].any())
                for client_id in client_ids:
                    columns_of_client[client_id].append(column)
        utilizations: list[tuple[float, bool]] = []
        for client_id, columns in columns_of_client.items():
            limits = self.members.rates_of(client_id, case, times)
            if limits is None or not limits.known:
                return unassigned_queues, None, False
            produced = rates[:, columns]
            listener = float((produced.sum(axis=1) / limits.rates.listener).max(initial=0))
            pulls = float((produced.max(axis=1) / limits.rates.queue).max(initial=0))
            utilizations.append((max(listener, pulls), pulls > listener))
        return unassigned_queues, *max(utilizations, default=(None, False))


def _peak_windows(course: BacklogCourse) -> tuple[Places, Messages]:
    """When every window of five minutes (or of all, if less) begins, and messages a second to each queue in it."""
    elapsed = (course.times - course.times[:1]) / SECOND
    if not elapsed.any():
        return course.times[:0], np.zeros((0, len(course.queues)))
    length = min(_PEAK_SECONDS, elapsed[-1])
    first = np.unique(np.searchsorted(elapsed, np.arange(0, elapsed[-1] - length + 1, _EVERY_SECONDS)))
    last = np.minimum(np.searchsorted(elapsed, elapsed[first] + length), len(elapsed) - 1)
    known = course.known[1:]
    produced = _summed(np.where(known, np.diff(course.produced, axis=0), 0))
    seconds = _summed(np.where(known, np.diff(course.times)[:, None], 0)) / SECOND
    grown, spans = produced[last] - produced[first], seconds[last] - seconds[first]
    rates = np.divide(grown, spans, out=np.zeros_like(spans), where=spans >= _PEAK_SECONDS / 2)
    return course.times[first], rates


def _summed(steps: Messages) -> Messages:
    """From the first row on: 0, then what was added up to each later one."""
    return np.vstack([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


def refuted(steps: Sequence[AuditedStep], needed: Size, load: float, configured: StrategySettings) -> str | None:
    """The reason not to size the group so: with the recorded pauses, ids and subscriptions a size falls behind, and the
    present one does not. None: none does.
    """
    groups = [need.group for need in needed.needs if need.group]
    cases = [_of_size(needed.members, 1, load)]
    cases += [_of_size(group.members, group.queues // max(needed.queues, 1), load) for group in groups]
    compared = compare(steps, cases, configured)
    if compared is None:
        return None
    today, *outcomes = compared.cases
    sizes = [str(group.members) for group, outcome in zip(groups, outcomes, strict=True) if _is_worse(outcome, today)]
    if not sizes:
        return None
    return f"with that time's pauses, ids and subscriptions, a group of {', '.join(dict.fromkeys(sizes))} falls behind"


def _is_worse(outcome: CaseOutcome, today: CaseOutcome) -> bool:
    """Return whether more queues have no owner, or a backlog is left that is greater than the model's error."""
    if outcome.unassigned_queues > today.unassigned_queues:
        return True
    if outcome.last is None or today.last is None or today.highest is None or outcome.at_most:
        return False
    return outcome.drained_after is None and outcome.last > today.last + model_error(today.highest)


#: A smaller share of the time does not show what the rest of it needed.
_ENOUGH_OBSERVED = 0.5


class SizeVerdict(StrEnum):
    """Verdict on the size of a group."""

    TOO_FEW = "TOO_FEW"
    NOT_BY_MEMBERS = "NOT_BY_MEMBERS"
    UNEVEN = "UNEVEN"
    ENOUGH = "ENOUGH"
    TOO_MANY = "TOO_MANY"
    UNKNOWN = "UNKNOWN"


class PublishedStep(NamedTuple):
    """A step of a group in `group_status`; None is unknown."""

    member_count: int | None
    queue_count: int | None
    utilization: float | None
    busiest_utilization: float | None
    busiest_bottleneck: str | None


class FleetNeed(NamedTuple):
    """A group at its busiest step: connections, queues, how busy all of them and the busiest of them were, what limits
    that one, and the fewest `needed`, with spare ones of those that it has. None: unknown, or no number is enough.
    `observed_share`: part of the time in which snapshots cover the group; `reason`: why there is no verdict.
    """

    verdict: SizeVerdict
    members: int | None = None
    queues: int | None = None
    utilization: float | None = None
    busiest: float | None = None
    bottleneck: str | None = None
    needed: int | None = None
    observed_share: float | None = None
    reason: str | None = None


def why_no_verdict(observed_share: float, open_rules: Collection[str]) -> str | None:
    """The reason not to size a group by what was recorded of it. `open_rules`: of its open incidents."""
    reasons = [f"open incident: {', '.join(sorted(open_rules))}"] if open_rules else []
    if observed_share < _ENOUGH_OBSERVED:
        reasons.append(f"observed for {percent_text(observed_share)} of the time")
    return "; ".join(reasons) or None


def fleet_need(steps: Sequence[PublishedStep], wanted: float, load: float, spare: int = 1) -> FleetNeed:
    """Of the steps of one group, with `load` times the messages: the busiest member has at most the part `wanted` of
    what it can consume. Up to `spare` members more than the fewest are not too many.

    Queues are consumed to be shared evenly, and members to be as fast as they are together. `NOT_BY_MEMBERS`: one queue
    is the limit, or there are too few. `UNEVEN`: members are enough, but one of them is slower, or has more to do.
    """
    known = [step for step in steps if step.utilization is not None and step.busiest_utilization is not None]
    if not known:
        return FleetNeed(SizeVerdict.UNKNOWN, reason="no step shows how busy members were")
    peak = max(known, key=lambda step: step.busiest_utilization or 0)
    utilization, busiest = load * (peak.utilization or 0), load * (peak.busiest_utilization or 0)
    need = FleetNeed(
        SizeVerdict.UNKNOWN, peak.member_count, peak.queue_count, utilization, busiest, peak.busiest_bottleneck
    )
    if not peak.member_count or not peak.queue_count:
        return need._replace(reason="members or queues are unknown")
    # What there is to do, in what one member can; the busiest member has the most queues of an even share.
    work, queues = utilization * peak.member_count, peak.queue_count
    fewest = next((count for count in range(1, queues + 1) if work * -(-queues // count) / queues <= wanted), None)
    if fewest is None or (busiest > wanted and peak.busiest_bottleneck != Bottleneck.LISTENER):
        return need._replace(verdict=SizeVerdict.NOT_BY_MEMBERS)
    needed = max(fewest, min(peak.member_count, fewest + spare))
    if busiest > wanted and needed <= peak.member_count:
        verdict = SizeVerdict.UNEVEN
    elif needed > peak.member_count:
        verdict = SizeVerdict.TOO_FEW
    else:
        verdict = SizeVerdict.ENOUGH if needed == peak.member_count else SizeVerdict.TOO_MANY
    return need._replace(verdict=verdict, needed=needed)
