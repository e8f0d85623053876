"""Groups whose members no broker returned to the recorder: calls of the table `capture_calls`."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from schemas import CAPTURE_CALLS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.audit_run import AuditRun
from spark_jobs.pipeline.gather.judged import Gathered
from spark_jobs.pipeline.gather.unanswered import COLUMNS, FATES, REQUEST, unanswered_states
from spark_jobs.store.read.stored import Filter, StoredTables
from spark_jobs.store.read.through_spark import stored_in


def with_unanswered(run: AuditRun, gathered: Gathered) -> Gathered:
    """Return what was gathered, with the calls for members of the read window that were not answered; as it was where
    there are none.
    """
    if CAPTURE_CALLS.name not in run.versions:
        return gathered
    request, stored = run.request, stored_in(run.spark, run.warehouse)
    version = run.versions[CAPTURE_CALLS.name]
    calls = unanswered_calls(stored, run.read_window, version, request.cluster, request.consumer_group)
    if not calls.num_rows:
        return gathered
    return replace(gathered, unanswered=run.spark.createDataFrame(unanswered_states(calls)))


def unanswered_calls(
    stored: StoredTables, window: Interval, version: int, cluster: str | None, consumer_group: str | None
) -> pa.Table:
    """The rows of `capture_calls` of the window with calls for members that were not answered, of one cluster and group
    or of all. Raises as `StoredTables.read` does.
    """
    conditions = [
        Filter("captured_at", ">=", window.start),
        Filter("captured_at", "<", window.end),
        Filter("request", "=", REQUEST),
        Filter("fate", "IN", FATES),
    ]
    named = (("cluster", cluster), ("subject", consumer_group))
    conditions += [Filter(column, "=", name) for column, name in named if name is not None]
    return stored.read(CAPTURE_CALLS, COLUMNS, conditions, version)
