"""Many steps of the history, each audited by a separate run: some at a time, and none stopped by another's error."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import replace
from threading import Event
from typing import TypeAlias

from pyspark.sql import SparkSession

from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.pipeline.run import run
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.show.incident_table import publish_incidents
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
