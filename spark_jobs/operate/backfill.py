"""Many steps of the history, each audited by a run of its own: some at a time, and none stopped by another's error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Event

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.pipeline.publish.runs import PublishedRun
from spark_jobs.pipeline.run import run
from spark_jobs.store.read.published import runs_of
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse

#: Told of a step: what is being done, or what became of it, and whether it has come to its end.
StepProgress = Callable[[Interval, str, bool], None]

_HOW_TO_GO_ON = "the steps published so far stay published: the same command with --only-missing does the rest"


@dataclass(frozen=True)
class Audited:
    """A step that was published: by which run, its findings by severity (without those that are silenced), and the
    warnings of `RunResult`; whether anything was observed.
    """

    run_id: str
    findings: Mapping[str, int]
    warnings: Sequence[str]
    quality_warnings: Sequence[str]
    observed: bool = True


@dataclass(frozen=True)
class Failed:
    """A step whose run ended in an error: its name, text and exit code. `audit_runs` says whether it was published all
    the same, as it is where only the pages could not be written.
    """

    error: str
    reason: str
    exit_code: ExitCode


@dataclass(frozen=True)
class Backfill:
    """Outcome of every step, in order of time."""

    audited: Mapping[Interval, Audited]
    failed: Mapping[Interval, Failed]


def published_steps(
    spark: SparkSession, warehouse: Warehouse, interval: Interval, configuration: Configuration
) -> set[Interval]:
    """The interval's steps that a run of everything has published with this configuration, as `audit_runs` says.

    Not those of which a run with another configuration (or step length, which is part of it) has replaced rows since.
    Raises `IntervalError` off the grid.
    """
    steps = list(configuration.grid.steps(interval))
    published: set[Interval] = set()
    stored = stored_in(spark, warehouse)
    if not stored.exists(AUDIT_RUNS):
        return published
    for earlier in map(PublishedRun.of, reversed(runs_of(stored, interval))):
        replaced = {step for step in steps if earlier.request.interval.intersect(step)}
        if earlier.configuration_hash != configuration.hash():
            published -= replaced
        elif earlier.request.covers_everything:
            published |= replaced
    return published


def backfill(
    spark: SparkSession,
    warehouse: Warehouse,
    steps: Sequence[Interval],
    configuration: Configuration,
    jobs: int = 1,
    progress: StepProgress = lambda *_: None,
) -> Backfill:
    """Audits and publishes the steps, all groups, `jobs` at a time, as threads of the one session.

    What `run` raises for the user (a `RebalanceAuditError`) is the outcome of its step. Anything else is raised, with a
    note that says how to continue: no further step begins then, and those under way end at their next stage.
    """
    stopped = Event()

    def outcome(step: Interval) -> Audited | Failed:
        def say(message: str) -> None:
            if stopped.is_set():
                raise CancelledError
            progress(step, message, False)

        try:
            result = run(spark, warehouse, RunRequest(step), configuration, say)
        except RebalanceAuditError as error:
            return Failed(type(error).__name__, str(error), error.exit_code)
        findings = Counter(result.reported_severities())
        warnings = result.warnings, result.quality_warnings
        return Audited(result.run["run_id"], dict(findings), *warnings, result.observed)

    outcomes: dict[Interval, Audited | Failed] = {}
    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = {pool.submit(outcome, step): step for step in steps}
            for future in as_completed(futures):
                step, ended = futures[future], future.result()
                outcomes[step] = ended
                progress(step, f"failed: {ended.reason}" if isinstance(ended, Failed) else "audited", True)
        except BaseException as error:
            stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            error.add_note(_HOW_TO_GO_ON)
            raise
    in_order = [(step, outcomes[step]) for step in sorted(outcomes)]
    return Backfill(
        {step: ended for step, ended in in_order if isinstance(ended, Audited)},
        {step: ended for step, ended in in_order if isinstance(ended, Failed)},
    )
