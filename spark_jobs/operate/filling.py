"""The steps that `backfill --only-missing` audits."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.missing import (
    RecordedSteps,
    Run,
    is_published,
    recorded_steps,
)
from spark_jobs.runtime.version import code_version
from spark_jobs.store.read.kept import auditable_since
from spark_jobs.store.read.published import covers_clusters
from spark_jobs.store.read.stored import StoredTables

#: The versions of the sources that a run has read, by step.
VersionsRead: TypeAlias = Mapping[Interval, Mapping[str, int]]


class Filling(NamedTuple):
    """The steps to audit; those whose gate was closed, and would be again; those that need nothing, as far as is known;
    and how many are left for another time.
    """

    steps: Sequence[Interval]
    rejected: Sequence[Interval] = ()
    left_out: Sequence[Interval] = ()
    postponed: int = 0


def filling(
    stored: StoredTables,
    configuration: Configuration,
    now: datetime,
    changed: Callable[[VersionsRead], Set[Interval]],
    interval: Interval | None = None,
    most: int | None = None,
    read_since: datetime | None = None,
) -> Filling:
    """The missing steps of the interval, or of all time, at most the newest `most`; of an interval also those that
    another configuration published, and those after the last snapshot that no run has published.

    A step that a run with the same configuration and code has tried is tried again only if it reads other rows now:
    `changed` gives those of steps that do. `read_since` as in `recorded_steps`. Raises as `StoredTables.read`.
    """
    recorded = recorded_steps(stored, configuration, now, interval, read_since)
    candidates: dict[Interval, list[Run | None]] = defaultdict(list)
    for each in recorded.missing:
        candidates[each.step].append(each.run)
    if interval is not None:
        for step, run in _more_of_interval(stored, configuration, now, interval, recorded).items():
            candidates[step].append(run)
    tried = {
        step: min((run for run in runs if run), key=itemgetter("finished_at"))["source_versions"]
        for step, runs in candidates.items()
        if all(_is_tried(run, configuration) for run in runs)
    }
    unchanged = tried.keys() - changed(tried) if tried else set()
    steps = sorted(candidates.keys() - unchanged)
    known = chain(configuration.grid.steps(interval) if interval else (), *recorded.steps.values())
    rejected = {step for step in unchanged if any(run and not is_published(run) for run in candidates[step])}
    left_out = sorted({*known} - {*steps} - rejected)
    kept = steps[-most:] if most else steps
    return Filling(kept, sorted(rejected), left_out, len(steps) - len(kept))


def _is_tried(run: Run | None, configuration: Configuration) -> bool:
    return (
        run is not None and run["configuration_hash"] == configuration.hash() and run["code_version"] == code_version()
    )


def _more_of_interval(
    stored: StoredTables, configuration: Configuration, now: datetime, interval: Interval, recorded: RecordedSteps
) -> dict[Interval, Run | None]:
    """The other steps of the interval that are to be audited, with the newest run of each if its gate was closed."""
    since, first = auditable_since(stored, configuration.look_back), recorded.first
    newest: dict[datetime, Run] = {}
    for (_, start), run in sorted(recorded.runs.items(), key=lambda each: each[1]["finished_at"]):
        newest[start] = run
    closed = {start: run for start, run in newest.items() if not is_published(run)}
    seen = {step for of_cluster in recorded.steps.values() for step in of_cluster}
    replaced = _of_other_configurations(recorded.runs_by_end, configuration, interval)

    def is_wanted(step: Interval) -> bool:
        if step.end > now or (since and step.start < since) or (first and step.end <= first):
            return False
        is_unseen = step not in seen and (step.start not in newest or step.start in closed)
        return is_unseen or step in replaced

    return {step: closed.get(step.start) for step in filter(is_wanted, configuration.grid.steps(interval))}


def _of_other_configurations(runs: Sequence[Run], configuration: Configuration, interval: Interval) -> set[Interval]:
    """The steps of which some rows are those of another configuration; `runs`: the oldest first."""
    replaced: set[Interval] = set()
    for run in filter(is_published, runs):
        audited = Interval(run["interval_start"], run["interval_end"])
        if not audited.intersect(interval):
            continue
        steps = {step for step in configuration.grid.steps(interval) if audited.intersect(step)}
        if run["configuration_hash"] != configuration.hash():
            replaced |= steps
        elif run["cluster"] is None and covers_clusters(run):
            replaced -= steps
    return replaced
