"""What a case comes to, in numbers that can be compared with what really happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from spark_jobs.domain.audited_step import AuditedStep
from spark_jobs.domain.message_queue import MessageQueue
from spark_jobs.domain.replays import Replays
from spark_jobs.domain.strategies import StrategySettings
from spark_jobs.domain.triggers import moved_between
from spark_jobs.domain.what_if.cases import AS_IT_WAS, Case
from spark_jobs.domain.what_if.check import check_case
from spark_jobs.domain.what_if.fluid import Amounts
from spark_jobs.domain.what_if.owned import Owned, owned_in, rebalances
from spark_jobs.domain.what_if.pace import MemberPace, members_of, uncommitted_seconds
from spark_jobs.domain.what_if.pause import hand_over_pause
from spark_jobs.domain.what_if.play import KnownMembers, Played, play
from spark_jobs.domain.what_if.recorded import Course, Recorded, recorded, spans_of, within
from spark_jobs.domain.window import SECOND

RECORDED = "really happened"
NO_BACKLOG_KNOWN = "no queue has a known backlog while the group was replayed"
NO_PACE = "no member was seen to consume, so the pace is unknown: set it with --speed CLIENT_ID=MESSAGES_PER_SECOND"


@dataclass(frozen=True)
class CaseOutcome:
    """One case over the recorded time. Queues and members: the mean over time, weighed by how long each state stood;
    `busiest`: the most queues of one connection at any time; `moves`: queues that moved in all `rebalances` together.

    Messages: None is unknown, and `unknown` says why. `at_most`: members had a backlog that do not tell how fast they
    are, and were never seen at their limit, so theirs may have been smaller. `limited_by`: what held back most of the
    members with a backlog, their `LISTENER` or their `PULLS`; None: there were none. `drained_after`: seconds from the
    highest backlog until a tenth of it was left, or what is allowed; None: not by the end. `curve`: messages at each
    time of the comparison, NaN where nothing is known.
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
    owned = owned_in(AS_IT_WAS, found, Replays(configured))
    again = play(AS_IT_WAS, owned, found, known)
    real = _outcome(RECORDED, owned, found, _really(found, owned))
    played = []
    for case in cases:
        check_case(case, found)
        owned = owned_in(case, found, Replays(case.settings(configured)))
        one = play(case, owned, found, known)
        played.append(_outcome(case.label, owned, found, one))
    return Comparison(found.course.times.tolist(), real, played, _error(found, again), known.members.of_each())


@dataclass(frozen=True)
class Happened:
    """What was recorded over some time. `in_rate`, `out_rate`: messages a second, None where it is unknown; `replayed`:
    seconds in which the owners are known, of any topic.
    """

    outcome: CaseOutcome
    in_rate: float | None
    out_rate: float | None
    replayed: float


def happened(
    steps: Sequence[AuditedStep], start: int, end: int, configured: StrategySettings, label: str
) -> Happened | None:
    """From `start` to `end` (microseconds) of these steps, which are those of one group, in order. None: no topic was
    replayed then.
    """
    every = recorded(steps)
    found = every and within(every, start, end)
    if found is None:
        return None
    owned = owned_in(AS_IT_WAS, found, Replays(configured))
    spans = sum(last - first for first, last, held in spans_of(owned) if held)
    course, outcome = found.course, _outcome(label, owned, found, _really(found, owned))
    return Happened(outcome, _rate(course, course.came), _rate(course, course.taken), spans / SECOND)


def _rate(course: Course, amounts: Amounts) -> float | None:
    """Messages a second of all queues together, each over the time in which it is known."""
    known = course.known[1:]
    seconds = np.where(known, np.diff(course.times)[:, None], 0).sum(axis=0) / SECOND
    messages = np.where(known, np.diff(amounts, axis=0), 0).sum(axis=0)
    return float((messages[seconds > 0] / seconds[seconds > 0]).sum()) if seconds.any() else None


def _error(found: Recorded, again: Played | None) -> float | None:
    if again is None or np.isnan(again.waiting).all():
        return None
    return float(np.nanmean(np.abs(again.waiting - found.course.total)))


def _really(found: Recorded, owned: Mapping[str, Sequence[Owned]]) -> Played:
    """What was recorded, in the form of what is played."""
    course, twice = found.course, 0.0
    columns = {queue: column for column, queue in enumerate(course.queues)}
    for one in (held for of_topic in owned.values() for held in of_topic):
        first, last = np.searchsorted(course.times, (one.start, one.end)).clip(0, len(course.times) - 1)
        for queue, owners in zip(one.allocation.queues, one.allocation.owners, strict=True):
            column = columns.get(MessageQueue(one.topic, *queue))
            if len(owners) > 1 and column is not None:
                taken = course.taken[last, column] - course.taken[first, column]
                twice += float(taken) * (len(owners) - 1)
    return Played(owned, course.total, twice)


def _outcome(
    label: str,
    owned: Mapping[str, Sequence[Owned]],
    found: Recorded,
    played: Played | None,
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


def _limited_by(played: Played) -> str | None:
    if not played.strained:
        return None
    return "PULLS" if 2 * len(played.by_pulls) > len(played.strained) else "LISTENER"


def drained_after(curve: Amounts, times: NDArray[np.int64], allowed_lag: int) -> int | None:
    """Seconds from the highest backlog until there is hardly any."""
    top = int(np.argmax(curve))
    drained = np.flatnonzero(curve[top:] <= max(allowed_lag, curve[top] / 10))
    return int(times[top + drained[0]] - times[top]) // SECOND if len(drained) else None


def _rebalances(owned: Mapping[str, Sequence[Owned]]) -> Iterator[tuple[Owned, Owned]]:
    return (pair for of_topic in owned.values() for pair in rebalances(of_topic))


class _Shares:
    """Queues and members over all topics, span by span; each distinct state is counted once."""

    def __init__(self, owned: Mapping[str, Sequence[Owned]]) -> None:
        known: dict[tuple[int, ...], tuple[int, int, int, int, int]] = {}
        self._seconds, self._counts = [], []
        for start, end, held in spans_of(owned):
            if held:
                state = tuple(id(one.allocation) for one in held)
                if state not in known:
                    known[state] = _counts(held)
                self._seconds.append(end - start)
                self._counts.append(known[state])

    @property
    def busiest(self) -> int:
        return max((one[-1] for one in self._counts), default=0)

    def means(self) -> tuple[float, ...]:
        """Members, queues without and with several owners, idle members."""
        found = np.average(np.array(self._counts, float)[:, :4], axis=0, weights=np.array(self._seconds, float))
        return tuple(found.tolist())


def _counts(held: Sequence[Owned]) -> tuple[int, int, int, int, int]:
    """Members, queues without and with several owners, idle members, and the most queues of one connection.

    A connection goes by its number among those of its id.
    """
    queues: Counter[tuple[str, int]] = Counter()
    for one in held:
        numbers: Counter[str] = Counter()
        for client_id, count in zip(one.client_ids, one.allocation.queues_per_member, strict=True):
            queues[client_id, numbers[client_id]] += count
            numbers[client_id] += 1
    counts = [one.allocation.counts for one in held]
    return (
        len(queues),
        sum(one.unassigned_queues for one in counts),
        sum(one.double_owned_queues for one in counts),
        sum(count == 0 for count in queues.values()),
        max(queues.values(), default=0),
    )
