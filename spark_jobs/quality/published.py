"""Whether what stands in a table is what the runs have published there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from expectations.suite import Severity
from schemas import Table
from spark_jobs.domain.intervals import Interval, StepGrid
from spark_jobs.publish.content import Content, together
from spark_jobs.publish.runs import PublishedRun
from spark_jobs.quality.checks import AsPublished


def as_published(
    table: Table, found: Mapping[datetime, Content], runs: Sequence[PublishedRun], interval: Interval, grid: StepGrid
) -> AsPublished:
    """Compares the content of a table's steps with that of the runs (newest first) that published them, if they were
    of everything, lie inside the interval, and no later run has published there.
    """
    nothing = together([])
    unchanged: dict[str, bool] = {}
    for run in _last_word(runs, interval):
        if (published := run.contents.get(table.name)) is not None:
            steps = [step.start for step in grid.steps(run.request.interval)]
            is_so = together(found.get(step, nothing) for step in steps) == published
            unchanged |= {step.isoformat(): is_so for step in steps}
    return AsPublished(
        name="content_is_as_published",
        says="Number and content of the rows are what audit_runs says of the last run of the step.",
        severity=Severity.CRITICAL,
        unchanged=unchanged,
    )


def _last_word(runs: Sequence[PublishedRun], interval: Interval) -> Iterable[PublishedRun]:
    for place, run in enumerate(runs):
        steps = run.request.interval
        is_replaced = any(newer.request.overlaps(run.request) for newer in runs[:place])
        if run.request.is_of_everything and steps.intersect(interval) == steps and not is_replaced:
            yield run
