"""One run at a time publishes, and what one that died has half published is undone before the next one does.

A reader takes all tables at the versions that the newest run left. Were two runs to publish at once, or one after
another that died, some of these versions would hold steps of the other run, and some would not.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, OUTPUTS, Table
from spark_jobs.pipeline.publish.claims import Claimed, Claims, claim_turn, claims_of
from spark_jobs.pipeline.publish.request import RunRequest
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_IN_THIS_PROCESS = threading.Lock()


@contextmanager
def publishing(
    spark: SparkSession, warehouse: Warehouse, request: RunRequest, run_id: str, claimed: Claimed
) -> Iterator[Callable[[], None]]:
    """The turn of a run: from before its first table until `audit_runs` names it. Others wait for it. Gives a check for
    before each commit: it raises `WarehouseError` where the run holds its claim or its turn no longer.

    `claimed`: the run's `claim`. If it fails in between, whoever has the next turn puts its steps back as they were.
    Processes wait for each other, and know of runs that died, only in a warehouse that has claims. Raises
    `WarehouseError` if the warehouse has vanished, `PublishConflictError` if its turn does not come.
    """
    folder = warehouse.folder(spark)
    claimed.check()
    with _IN_THIS_PROCESS, claim_turn(folder) as turn:

        def check() -> None:
            claimed.check()
            turn.check()

        claims = claims_of(folder)
        if claims is None:
            yield check
            return
        _undo_unfinished(spark, warehouse, claims, check)
        claims.write_note(run_id, request.as_json())
        yield check
        check()  # else the note may be that of another process, which publishes the same run
        claims.drop_note(run_id)


def undo_unfinished(spark: SparkSession, warehouse: Warehouse) -> None:
    """Puts the steps of runs that died while they published back as they were."""
    folder = warehouse.folder(spark)
    claims = claims_of(folder)
    if claims and claims.notes():
        with _IN_THIS_PROCESS, claim_turn(folder) as turn:
            _undo_unfinished(spark, warehouse, claims, turn.check)


def _undo_unfinished(spark: SparkSession, warehouse: Warehouse, claims: Claims, check: Callable[[], None]) -> None:
    for run_id, text in claims.notes().items():
        _undo(spark, warehouse, run_id, text, check)
        check()
        claims.drop_note(run_id)


def _undo(spark: SparkSession, warehouse: Warehouse, run_id: str, text: str, check: Callable[[], None]) -> None:
    """The rows that the run replaced, in every table that has its commit; nothing where `audit_runs` names it."""
    try:
        request = RunRequest.from_json(text)
    except json.JSONDecodeError:  # it died before its first table
        return
    if _is_published(spark, warehouse, run_id):
        return
    for table in OUTPUTS:
        version = warehouse.marked_version(spark, table, run_id) if warehouse.exists(spark, table) else None
        if version is not None:
            _LOG.warning("run %s died while it published: %s is put back as it was", run_id, table.name)
            _put_back(spark, warehouse, table, request, version, check)


def _is_published(spark: SparkSession, warehouse: Warehouse, run_id: str) -> bool:
    if not warehouse.exists(spark, AUDIT_RUNS):
        return False
    of_run = f"run_id = {literal(run_id)} AND outcome = 'published'"
    return not warehouse.read(spark, AUDIT_RUNS).where(of_run).isEmpty()


def _put_back(
    spark: SparkSession,
    warehouse: Warehouse,
    table: Table,
    request: RunRequest,
    version: int,
    check: Callable[[], None],
) -> None:
    """The request's rows as they were before this version."""
    rows = request.replaces(table)
    before = warehouse.read(spark, table, version - 1).where(rows).select(*table.columns)
    writer = before.sortWithinPartitions(*table.key).write.format("delta").mode("overwrite")

    def commit() -> None:
        check()
        warehouse.save(writer.option("replaceWhere", rows), table)

    retry_on_conflict(commit, f"put {table.name} back")
