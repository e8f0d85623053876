"""Answers are clean only if all was seen and audited: random recorders that die, runs of parts, and hours without any,
against an oracle that looks at every minute.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from schemas import AUDIT_RUNS, COVERAGE, FINDINGS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, SIGHTINGS, Table
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.kernel.coverage import CoverageRow, cluster_coverage
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import SECOND, to_micros
from spark_jobs.ingest.sightings import sightings
from spark_jobs.pipeline.publish.rows import coverage_rows
from spark_jobs.show.coverage import coverage_of
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope, published_tables
from tests.support.kernel import evaluated, settings
from tests.support.snapshots import healthy_group
from tests.support.stored import audit_run, write
from tests.support.times import at

HOURS, MINUTE = 4, 60
#: A snapshot each five minutes, which holds for fifteen.
EVERY, HOLDS = 5, 15
SETTINGS = replace(settings(EVERY * MINUTE), sightings=7 * 86400 * SECOND)
Group = tuple[str, str]


@dataclass
class History:
    """By cluster and group the minutes after ten at which it was recorded; `runs`: of which hours and whom."""

    taken: dict[Group, list[int]]
    runs: list[tuple[range, str | None, str | None]] = field(default_factory=list)

    def audited(self, hour: int, cluster: str, group: str | None) -> bool:
        """Whether a run was of that hour and group; None: of all groups of the cluster."""
        return any(
            hour in hours and of_cluster in (None, cluster) and of_group in (None, group)
            for hours, of_cluster, of_group in self.runs
        )

    def first(self, cluster: str) -> int:
        return min(min(taken) for (name, _), taken in self.taken.items() if name == cluster)


def histories(seed: int) -> History:
    chance = random.Random(seed)
    taken: dict[Group, list[int]] = {}
    for cluster in ("c", "d")[: chance.choice((1, 2, 2))]:
        begins, ends = chance.choice((0, 0, 0, 25, 90)), chance.choice((240, 240, 240, 130, 70, 215))
        pause = chance.choice((range(0), range(0), range(100, 150), range(175, 200)))
        for group in ("g", "h", "i")[: chance.choice((1, 2, 3))]:
            there_from = chance.choice((0, 0, 0, 95))
            minutes = [minute for minute in range(0, 240, EVERY) if max(begins, there_from) <= minute < ends]
            lost = chance.choice((range(0), range(0), range(0), range(130, 160)))
            taken[cluster, group] = [minute for minute in minutes if minute not in pause and minute not in lost] or [0]
    history = History(taken)
    whole_days: list[tuple[range, str | None, str | None]] = [(range(HOURS), None, None), (range(HOURS), "c", None)]
    history.runs = chance.choice(([], whole_days[:1], whole_days[:1], whole_days[1:]))
    for _ in range(chance.randrange(4)):
        start = chance.randrange(HOURS)
        names = chance.choice([(None, None), ("c", None), ("c", None), ("d", None), ("c", "g"), ("d", "h")])
        history.runs.append((range(start, min(HOURS, start + chance.choice((1, 2, 4)))), *names))
    if not history.runs:
        history.runs = [(range(1), None, None)]
    return history


def publish(history: History, folder: Path) -> None:
    """What ingest and these runs leave, as far as coverage is read from it."""
    rows: dict[Table, list[dict[str, Any]]] = {}
    for (cluster, group), minutes in history.taken.items():
        for table, snapshots in healthy_group((60 * minute for minute in minutes), "c1").items():
            of_topic = (
                {**row, "cluster": cluster, "topic": f"t-{group}"} if "topic" in row else {**row, "cluster": cluster}
                for row in snapshots
            )
            named = [row | ({"consumer_group": group} if "consumer_group" in row else {}) for row in of_topic]
            if table is MEMBERSHIP_SNAPSHOTS:
                for row in named:
                    row["subscriptions"] = [{**each, "topic": f"t-{group}"} for each in row["subscriptions"]]
            rows.setdefault(table, []).extend(named)
    write(folder, SIGHTINGS, sightings((MEMBERSHIP_SNAPSHOTS, row) for row in rows[MEMBERSHIP_SNAPSHOTS]))
    published: dict[tuple[int, str, str | None], CoverageRow] = {}
    steps = {
        (each.step.window.start, *key(each)): each
        for each in evaluated(rows, Interval(at(0), at(HOURS * 3600)), SETTINGS)
    }
    for hours, of_cluster, of_group in history.runs:
        starts = {to_micros(at(3600 * hour)) for hour in hours}
        own = [
            each.coverage
            for (start, *names), each in steps.items()
            if start in starts and of_cluster in (None, names[0]) and of_group in (None, names[1])
        ]
        clusters = [] if of_group else cluster_coverage(own, 3600 * SECOND)
        published |= {(row.step_start, row.cluster, row.consumer_group): row for row in (*own, *clusters)}
    write(folder, COVERAGE, coverage_rows(published.values()).to_pylist())
    of_groups = {(row.step_start, row.cluster, row.consumer_group) for row in published.values() if row.consumer_group}
    status = {"finding_count": 0, "unknown_queues": 0, "bottleneck": "NO_BACKLOG", "advice": "No."}
    write(
        folder,
        GROUP_STATUS,
        [
            status
            | {"cluster": cluster, "consumer_group": group, "step_start": at((start - to_micros(at(0))) / SECOND)}
            for start, cluster, group in sorted(of_groups)
        ],
    )
    write(folder, FINDINGS, [])
    versions = {table.name: 0 for table in (COVERAGE, GROUP_STATUS, FINDINGS)}
    write(folder, AUDIT_RUNS, [audit_run(Interval(at(0), at(HOURS * 3600)), versions)])


def key(each: EvaluatedStep) -> Group:
    return each.step.history.cluster, each.step.history.consumer_group


def is_whole(history: History, hours: range, cluster: str | None, group: str | None) -> bool:
    """The oracle: minute by minute, of every group that was recorded before the end."""
    end = 60 * hours.stop
    groups = [of for of, taken in history.taken.items() if taken[0] < end]
    asked = [of for of in groups if cluster in (None, of[0]) and group in (None, of[1])]
    clusters = {of[0] for of in groups if cluster in (None, of[0])}
    for name in clusters:
        for hour in hours:
            members = [t for of, taken in history.taken.items() if of[0] == name for t in taken]
            is_silent = not any(t <= 60 * hour + 59 < t + HOLDS for t in members)
            if history.audited(hour, name, None) and is_silent and history.first(name) < 60 * hour + 60:
                return False
    return bool(asked) and all(group_is_whole(history, hours, *of) for of in asked)


def group_is_whole(history: History, hours: range, cluster: str, group: str) -> bool:
    taken, expected, seen = history.taken[cluster, group], 0, 0
    for hour in hours:
        minutes = range(60 * hour, 60 * hour + 60)
        if history.first(cluster) > minutes[-1]:
            return False  # nothing of the cluster was recorded yet
        if not history.audited(hour, cluster, None if taken[0] > minutes[-1] else group):
            return False
        for minute in minutes:
            if minute >= taken[0]:
                expected += 1
                seen += any(t <= minute < t + HOLDS for t in taken)
    return not expected or seen / expected >= 0.9


def questions() -> Iterator[tuple[range, str | None, str | None]]:
    for hours in (range(1), range(1, 2), range(2, 4), range(3, 4), range(4)):
        for names in ((None, None), ("c", None), ("d", None), ("c", "g"), ("d", "h")):
            yield hours, *names


@pytest.mark.parametrize("seed", range(40))
def test_an_answer_is_clean_only_if_all_was_seen_and_audited(seed: int, tmp_path: Path) -> None:
    history = histories(seed)
    publish(history, tmp_path)
    tables = published_tables(DeltaTables(Location.parse(str(tmp_path))))
    for hours, cluster, group in questions():
        scope = Scope(Interval(at(3600 * hours.start), at(3600 * hours.stop)), cluster, group)
        answer = coverage_of(tables, scope)
        expected = is_whole(history, hours, cluster, group)
        assert answer.is_whole is expected, (history, hours, cluster, group, answer.text(), answer.lacks())
        assert bool(answer.lacks()) is not expected
