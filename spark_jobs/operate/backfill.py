"""Many steps of the history, each audited by a separate run: some at a time, and none stopped by another's error; and
the steps that are missing.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import datetime
from itertools import chain
from operator import itemgetter
from threading import Event
from typing import NamedTuple, TypeAlias

from pyspark.sql import SparkSession

from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.operate.missing import (
    RecordedSteps,
    is_published,
    recorded_steps,
)
from spark_jobs.pipeline.run import run
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.runtime.version import code_version
from spark_jobs.show.incidents import publish_incidents
from spark_jobs.show.rows import Row
from spark_jobs.store.read.kept import auditable_since
from spark_jobs.store.read.published import covers_clusters
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse

#: Told of a step: what is being done, or what became of it, and whether it has come to its end.
StepProgress = Callable[[Interval, str, bool], None]
#: The outcome of a step: its run's record or error. `audit_runs` shows whether a failed one was published.
Outcome: TypeAlias = RunRecord | RebalanceAuditError

_HOW_TO_GO_ON = (
    "the steps published so far stay published: the same command does the rest, a backfill with --only-missing"
)


def backfill(
    spark: SparkSession,
    warehouse: Warehouse,
    steps: Sequence[Interval],
    configuration: Configuration,
    jobs: int = 1,
    progress: StepProgress = lambda *_: None,
    *,
    with_findings: bool = False,
) -> dict[Interval, Outcome]:
    """Audit and publish the steps, all groups, `jobs` threads at a time; return each outcome, in order of time.

    `with_findings`: keep all findings in memory. A `RebalanceAuditError` is the outcome of its step. Other errors are
    raised with a note on how to continue: no step begins then, and those under way end at their next stage.
    """
    stopped = Event()

    def outcome(step: Interval) -> Outcome:
        try:
            record = run(spark, warehouse, RunSpec(step), configuration, _saying(progress, step, stopped))
        except RebalanceAuditError as error:
            return error
        return record if with_findings else replace(record, findings=[])

    outcomes: dict[Interval, Outcome] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = {pool.submit(outcome, step): step for step in steps}
            for future in as_completed(futures):
                step, ended = futures[future], future.result()
                outcomes[step] = ended
                progress(step, f"failed: {ended}" if isinstance(ended, RebalanceAuditError) else "audited", True)
        except BaseException as error:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            error.add_note(_HOW_TO_GO_ON)
            raise
    if done := sorted(audited(outcomes)):
        publish_incidents(stored_in(spark, warehouse), configuration.routes, Interval(done[0].start, done[-1].end))
    return dict(sorted(outcomes.items()))


def _saying(progress: StepProgress, step: Interval, stopped: Event) -> Callable[[str], None]:
    def say(message: str) -> None:
        if stopped.is_set():
            raise CancelledError
        progress(step, message, False)

    return say


def audited(outcomes: Mapping[Interval, Outcome]) -> dict[Interval, RunRecord]:
    """The steps that were audited, each with what its run left."""
    return {step: ended for step, ended in outcomes.items() if isinstance(ended, RunRecord)}


def failed(outcomes: Mapping[Interval, Outcome]) -> dict[Interval, RebalanceAuditError]:
    """The steps whose run ended in an error."""
    return {step: ended for step, ended in outcomes.items() if isinstance(ended, RebalanceAuditError)}


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
    candidates: dict[Interval, list[Row | None]] = defaultdict(list)
    for each in recorded.missing:
        candidates[each.step].append(each.run)
    if interval is not None:
        for step, tried_by in _more_of_interval(stored, configuration, now, interval, recorded).items():
            candidates[step].append(tried_by)
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


def _is_tried(run: Row | None, configuration: Configuration) -> bool:
    return (
        run is not None and run["configuration_hash"] == configuration.hash() and run["code_version"] == code_version()
    )


def _more_of_interval(
    stored: StoredTables, configuration: Configuration, now: datetime, interval: Interval, recorded: RecordedSteps
) -> dict[Interval, Row | None]:
    """The other steps of the interval that are to be audited, with the newest run of each if its gate was closed."""
    since, first = auditable_since(stored, configuration.look_back), recorded.first
    in_order = sorted(recorded.runs.items(), key=lambda each: each[1]["finished_at"])
    newest = {start: of_step for (_, start), of_step in in_order}
    closed = {start: run for start, run in newest.items() if not is_published(run)}
    seen = {step for of_cluster in recorded.steps.values() for step in of_cluster}
    replaced = _of_other_configurations(recorded.runs_by_end, configuration, interval)

    def is_wanted(step: Interval) -> bool:
        if step.end > now or (since and step.start < since) or (first and step.end <= first):
            return False
        is_unseen = step not in seen and (step.start not in newest or step.start in closed)
        return is_unseen or step in replaced

    return {step: closed.get(step.start) for step in filter(is_wanted, configuration.grid.steps(interval))}


def _of_other_configurations(runs: Sequence[Row], configuration: Configuration, interval: Interval) -> set[Interval]:
    """The steps of which some rows are those of another configuration; `runs`: the oldest first."""
    replaced: set[Interval] = set()
    for each in filter(is_published, runs):
        of_run = Interval(each["interval_start"], each["interval_end"])
        if not of_run.intersect(interval):
            continue
        steps = {step for step in configuration.grid.steps(interval) if of_run.intersect(step)}
        if each["configuration_hash"] != configuration.hash():
            replaced |= steps
        elif each["cluster"] is None and covers_clusters(each):
            replaced -= steps
    return replaced
