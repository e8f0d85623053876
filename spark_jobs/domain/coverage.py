"""How much of what a question is about was recorded, audited and seen: every answer reports it of itself.

`Coverage` is the only place that decides it. Commands, screens, notifications, metrics and exit codes read it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from spark_jobs.domain.kernel.coverage import CoverageRow, Lack, Missing
from spark_jobs.domain.model.intervals import Interval, duration_text
from spark_jobs.domain.model.window import SECOND, Time, common, covered, from_micros, joined, second_text, without
from spark_jobs.domain.phrases import count, names_text

#: Less than this share observed is not the whole, unless configured.
COMPLETE_SHARE = 0.9
#: Names in a sentence; more are counted.
_NAMED = 3


class Seen(StrEnum):
    """The part of a group that is known in the time of a question."""

    WHOLE = "WHOLE"  # audited, and seen
    IN_PART = "IN_PART"  # audited, and seen for a part of the time
    NOT_SEEN = "NOT_SEEN"  # audited, and nothing of it was recorded
    NOT_AUDITED = "NOT_AUDITED"  # recorded, and in some steps audited by no run
    NOT_RECORDED = "NOT_RECORDED"  # in some steps neither recorded nor audited


class GroupCoverage(NamedTuple):
    """How much was seen of one group: its share of the time in which there should be snapshots, how long, and what is
    missing.
    """

    cluster: str
    consumer_group: str
    seen: Seen
    share: float
    observed_seconds: float
    missing: Sequence[Missing] = ()


class Unaudited(NamedTuple):
    """A time (microseconds) in which groups of a cluster were not audited; `recorded`: there are snapshots of it."""

    cluster: str
    time: Time
    groups: Set[str]
    recorded: bool


class SilentTime(NamedTuple):
    """A time (microseconds) of a cluster without any snapshot, up to the end of an audited step or beyond it."""

    cluster: str
    start: int
    end: int


@dataclass(frozen=True)
class Asked:
    """A question: starts of its steps, and their length, microseconds; the name of a group, None: every one; its time,
    None: the whole steps.
    """

    steps: Sequence[int]
    length: int
    consumer_group: str | None = None
    time: Time | None = None

    def part(self, start: int) -> Time:
        """The time of the step that it is about."""
        return self._cut((start, start + self.length))

    @property
    def interval(self) -> Interval | None:
        """All of these times; None: there is none."""
        if not self.steps:
            return None
        return Interval(*map(from_micros, self._cut((min(self.steps), max(self.steps) + self.length))))

    def _cut(self, steps: Time) -> Time:
        return steps if self.time is None else common(steps, self.time) or steps


@dataclass(frozen=True)
class Known:
    """Rows of the steps of a question; `expected`: by cluster the groups that should be there, from steps before and
    from what was recorded; `recorded`: by cluster the starts of steps in which snapshots were taken; `forgotten`: by
    cluster since when nothing of it is expected.
    """

    rows: Sequence[CoverageRow]
    expected: Mapping[str, Set[str]] = field(default_factory=dict)
    recorded: Mapping[str, Set[int]] = field(default_factory=dict)
    forgotten: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Coverage:
    """The answer: a value per group, what was not audited, and when nothing of a cluster was recorded. `interval`: the
    time of its steps that the question is about; None: there is none. `future`: the part of it that is not over.

    Of a question without a time: by cluster `data_until`, the last snapshot, `too_old`, how long ago it is where that
    is more than two steps, and `audited_until`, the end of the newest step in which all its groups were audited.
    """

    interval: Interval | None
    groups: Sequence[GroupCoverage]
    unaudited: Sequence[Unaudited] = ()
    silent: Sequence[SilentTime] = ()
    future: Interval | None = None
    data_until: Mapping[str, datetime] = field(default_factory=dict)
    too_old: Mapping[str, timedelta] = field(default_factory=dict)
    audited_until: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def share(self) -> float:
        """The mean share of the groups; 0 without any."""
        return _mean([group.share for group in self.groups])

    def cluster_shares(self) -> dict[str, float]:
        """By cluster the mean share of its groups; 0 of a cluster whose data are too old."""
        shares: dict[str, list[float]] = {cluster: [] for cluster in (*self.data_until, *self.too_old)}
        for group in self.groups:
            shares.setdefault(group.cluster, []).append(group.share)
        return {cluster: 0.0 if cluster in self.too_old else _mean(of) for cluster, of in sorted(shares.items())}

    @cached_property
    def not_whole(self) -> Sequence[GroupCoverage]:
        """The groups that were not audited, or not seen for the share that counts as complete."""
        return [group for group in self.groups if group.seen is not Seen.WHOLE]

    @property
    def is_whole(self) -> bool:
        """Return whether an answer without incidents means that nothing was wrong."""
        return bool(self.groups) and not (self.not_whole or self.unaudited or self.silent or self.too_old)

    def of(self, cluster: str, consumer_group: str) -> GroupCoverage | None:
        """The value of one group; None: nothing says that it was there."""
        return self._by_name.get((cluster, consumer_group))

    @cached_property
    def _by_name(self) -> Mapping[tuple[str, str], GroupCoverage]:
        return {(group.cluster, group.consumer_group): group for group in self.groups}

    def unaudited_times(self, *, recorded: bool) -> list[Interval]:
        """The times, in order, in which groups were not audited, of what was recorded or of what was not: if no group
        is known, all of it.
        """
        if not recorded and self.interval and not (self.groups or self.unaudited):
            return [self.interval]
        times = joined(each.time for each in self.unaudited if each.recorded is recorded)
        return [Interval(*map(from_micros, time)) for time in times]

    def text(self) -> str:
        """The groups, time and share: `17 groups of demo, 2026-03-01T02:00Z/2026-03-01T03:00Z, 98 % observed`."""
        clusters = sorted({group.cluster for group in self.groups})
        of_clusters = f" of {names_text(clusters, _NAMED)}" if clusters else ""
        time = f", {self.interval}" if self.interval else ""
        return f"{count(len(self.groups), 'group')}{of_clusters}{time}, {share_text(self.share)} observed"

    def lacks(self) -> list[str]:
        """Sentences: what is missing of the whole; none if nothing is."""
        if not self.groups and not self.unaudited:
            return [f"Nothing was recorded{f' in {self.interval}' if self.interval else ''}.", *self._notes()]
        return [
            *(
                f"Nothing was recorded of the cluster {each.cluster} from {second_text(each.start)} to "
                f"{second_text(each.end)}."
                for each in self.silent
            ),
            *map(_unaudited_text, self.unaudited),
            *self._in_part(),
            *self._notes(),
        ]

    def _notes(self) -> list[str]:
        old = [
            f"The data of {cluster} end {duration_text(age)} ago: older than two steps, check the recorder and the "
            "schedule."
            for cluster, age in sorted(self.too_old.items())
        ]
        return [*old, *([f"{self.future} is not over yet."] if self.future else [])]

    def _in_part(self) -> list[str]:
        """A sentence per reason, about groups of clusters that were not silent."""
        silent = {time.cluster for time in self.silent}
        by_reason: dict[str, list[GroupCoverage]] = defaultdict(list)
        for group in self.not_whole:
            if group.seen in (Seen.IN_PART, Seen.NOT_SEEN) and group.cluster not in silent:
                by_reason[_reason(group.missing)].append(group)
        return [_in_part_text(groups, reason) for reason, groups in by_reason.items()]


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0


#: Of a question that was not asked.
NO_COVERAGE = Coverage(None, ())


class _Step(NamedTuple):
    """One step of a cluster: the part of it that is asked, the rows of its groups, that of the cluster, which there is
    if it was audited whole, and whether anything was recorded in it.
    """

    time: Time
    end: int
    groups: Mapping[str, CoverageRow]
    whole: CoverageRow | None
    recorded: bool

    def is_lacking(self, group: str) -> bool:
        """Return whether it is not known if the group was there."""
        if self.whole is None:
            return group not in self.groups
        return common(self.time, self.expected(self.whole)) is None

    def expected(self, row: CoverageRow) -> Time:
        """The time in which there should be snapshots."""
        return self.end - round(SECOND * row.expected_seconds), self.end

    def seconds(self, group: str) -> tuple[float, float]:
        """How long there should be snapshots of the group in that part, and how long they are there."""
        if self.is_lacking(group):
            return (self.time[1] - self.time[0]) / SECOND, 0.0
        row = self.groups.get(group)
        if row is None:
            return 0.0, 0.0
        if self.time == (row.step_start, self.end):
            return row.expected_seconds, row.observed_seconds
        expected = common(self.time, self.expected(row))
        if expected is None:
            return 0.0, 0.0
        lacking = joined(each.time for each in row.missing)
        return covered([expected]) / SECOND, covered(without(expected, lacking)) / SECOND


def coverage(question: Asked, known: Known, complete_share: float = COMPLETE_SHARE) -> Coverage:
    """The coverage of the asked steps, of every group that has rows in them or is expected.

    A step in which a cluster has a row of its own was audited whole: a group without a row was not there. In another
    step the groups without a row were not audited.
    """
    values: list[GroupCoverage] = []
    unaudited: dict[tuple[str, bool, Time], set[str]] = defaultdict(set)
    for cluster, steps in _steps(question, known).items():
        names = {*known.expected.get(cluster, ()), *chain.from_iterable(step.groups for step in steps)}
        for name in sorted(names) if question.consumer_group is None else names & {question.consumer_group}:
            lacking = [step for step in steps if step.is_lacking(name)]
            for step in lacking:
                unaudited[cluster, step.recorded, step.time].add(name)
            values.append(_of_group(cluster, name, steps, lacking, complete_share))
    silent = [
        SilentTime(cluster, *time)
        for cluster, times in silent_times(known.rows, question.length).items()
        for time in times
        if question.time is None or common(time, question.time)
    ]
    return Coverage(question.interval, values, _joined(unaudited), silent)


def _steps(question: Asked, known: Known) -> dict[str, list[_Step]]:
    """By cluster, in the order of their names, all steps asked in which something of it is known or expected."""
    rows: dict[tuple[str, int], dict[str | None, CoverageRow]] = defaultdict(dict)
    for row in known.rows:
        rows[row.cluster, row.step_start][row.consumer_group] = row
    steps: dict[str, list[_Step]] = {}
    for cluster in sorted({cluster for cluster, _ in rows} | known.expected.keys()):
        recorded, forgotten = known.recorded.get(cluster, ()), known.forgotten.get(cluster)
        for at in question.steps:
            of_step = rows.get((cluster, at), {})
            if forgotten is not None and at + question.length > forgotten and not of_step and at not in recorded:
                continue
            groups = {name: row for name, row in of_step.items() if name is not None}
            steps.setdefault(cluster, []).append(
                _Step(
                    question.part(at),
                    at + question.length,
                    groups,
                    of_step.get(None),
                    at in recorded and None not in of_step,
                )
            )
    return steps


def _of_group(
    cluster: str, name: str, steps: Sequence[_Step], lacking: Sequence[_Step], complete_share: float
) -> GroupCoverage:
    seconds = [step.seconds(name) for step in steps]
    expected, observed = (sum(of_step[place] for of_step in seconds) for place in (0, 1))
    share = observed / expected if expected else 1.0
    if lacking:
        seen = Seen.NOT_AUDITED if any(step.recorded for step in lacking) else Seen.NOT_RECORDED
    else:
        seen = Seen.WHOLE if share >= complete_share else Seen.IN_PART if share > 0 else Seen.NOT_SEEN
    missing = (each for step in steps if name in step.groups for each in step.groups[name].missing)
    return GroupCoverage(cluster, name, seen, share, observed, [*missing])


def _joined(unaudited: Mapping[tuple[str, bool, Time], Set[str]]) -> list[Unaudited]:
    """Times of a cluster with the same groups that follow each other are one."""
    times: list[Unaudited] = []
    for (cluster, recorded, time), groups in sorted(unaudited.items(), key=lambda each: each[0]):
        last = times[-1] if times else None
        if last and (last.cluster, last.recorded, last.groups, last.time[1]) == (cluster, recorded, groups, time[0]):
            times[-1] = last._replace(time=(last.time[0], time[1]))
        else:
            times.append(Unaudited(cluster, time, groups, recorded))
    return times


def silent_times(rows: Iterable[CoverageRow], length: int) -> dict[str, list[Time]]:
    """By cluster the times, microseconds, without any snapshot of it that reach the end of an audited step, or go
    beyond. `rows`: those of clusters count; `length`: of a step.
    """
    missing: dict[str, list[Time]] = defaultdict(list)
    ends: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        if row.consumer_group is None:
            missing[row.cluster] += (each.time for each in row.missing)
            ends[row.cluster].add(row.step_start + length)
    silent = {
        cluster: [(start, end) for start, end in joined(times) if any(start < at <= end for at in ends[cluster])]
        for cluster, times in missing.items()
    }
    return {cluster: times for cluster, times in sorted(silent.items()) if times}


def share_text(share: float) -> str:
    """In percent, rounded down, so that only the whole is 100 %, and only nothing 0 %."""
    return "less than 1 %" if 0 < share < 0.01 else f"{int(100 * share + 1e-6)} %"


#: By the reason of most of the time that is missing.
_WHY = {
    Lack.NO_SNAPSHOTS: "no snapshots of {sources} were recorded",
    Lack.NOT_ANSWERED: "brokers did not answer who its members are",
    Lack.REJECTED: "snapshots of {sources} are in quarantine",
}
_SOURCES = {"membership_snapshots": "members", "route_snapshots": "routes", "offset_snapshots": "offsets"}


def _reason(missing: Iterable[Missing]) -> str:
    lasted: dict[Lack, int] = defaultdict(int)
    sources: dict[Lack, dict[str, None]] = defaultdict(dict)
    for each in missing:
        lasted[each.reason] += each.ended_at - each.started_at
        sources[each.reason][_SOURCES[each.source]] = None
    worst = max(lasted, key=lambda reason: lasted[reason])
    return _WHY[worst].format(sources=names_text([*sources[worst]]))


def _in_part_text(groups: Sequence[GroupCoverage], reason: str) -> str:
    least, most = (share_text(extreme(group.share for group in groups)) for extreme in (min, max))
    names = names_text([group.consumer_group for group in groups], _NAMED)
    return f"{least}{'' if least == most else f' to {most}'} was observed of {names}: {reason}."


def _unaudited_text(unaudited: Unaudited) -> str:
    interval = Interval(*map(from_micros, unaudited.time))
    groups = f"{names_text(sorted(unaudited.groups), _NAMED)} of the cluster {unaudited.cluster}"
    if unaudited.recorded:
        return f"{groups} {'was' if len(unaudited.groups) == 1 else 'were'} not audited in {interval}."
    return f"Nothing was recorded of {groups} in {interval}."
