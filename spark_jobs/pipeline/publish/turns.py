"""One run at a time publishes, and what one that died has half published is undone before the next one does.

A reader takes all tables at the versions that the newest run left. Were two runs to publish at once, or one after
another that died, some of these versions would hold steps of the other run, and some would not.
"""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS, OUTPUTS, Table
from spark_jobs.pipeline.publish.claims import Claimed, Claims, are_leases, claim_turn, claims_of
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.conflicts import retry_on_conflict
from spark_jobs.store.location import Location
from spark_jobs.store.parallel import run_in_parallel
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.sql import literal
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
_IN_THIS_PROCESS = threading.Lock()
#: Delta keeps the numbers of commits as a long.
_LAST_COMMIT = 2**63 - 1


@dataclass(frozen=True)
class Turn:
    """The turn of a run, in which it publishes. `check` raises `WarehouseError` if the run does not hold its claim and
    its turn any more; `name`: of a turn that others can fence.
    """

    check: Callable[[], None] = lambda: None
    name: str | None = None
    _commits: Iterator[int] = field(default_factory=lambda: count(1))

    def options(self) -> dict[str, str]:
        """Return Delta's options of the next commit to an output table or `audit_runs`; with the same ones it is done
        once, however often it is tried.
        """
        return _options(self.name, next(self._commits)) if self.name else {}


@contextmanager
def publishing(
    spark: SparkSession, warehouse: Warehouse, spec: RunSpec, run_id: str, claimed: Claimed
) -> Iterator[Turn]:
    """The turn of a run: from before its first table until `audit_runs` names it. Others wait for it.

    `claimed`: the run's `claim`. If it fails in between, whoever has the next turn puts its steps back as they were.
    Processes wait for each other, and know of runs that died, only in a warehouse that has claims. Raises
    `WarehouseError` if the warehouse has vanished, `PublishConflictError` if its turn does not come.
    """
    claimed.check()
    with _turn(warehouse.folder(spark), claimed.check) as (name, turn, claims):
        if claims is None:
            yield turn
            return
        with _noted(claims, f"{run_id}.{name}", spec.as_json(), turn):
            _undo_unfinished(spark, warehouse, claims, name, turn)
            yield turn


def undo_unfinished(spark: SparkSession, warehouse: Warehouse) -> None:
    """Puts the steps of runs that died while they published back as they were."""
    claims = claims_of(warehouse.folder(spark))
    if claims and claims.notes():
        with turn_without_run(spark, warehouse):
            pass


@contextmanager
def turn_without_run(spark: SparkSession, warehouse: Warehouse) -> Iterator[None]:
    """A turn in which no run publishes; what runs that died have half published is put back first."""
    with _turn(warehouse.folder(spark)) as (name, turn, claims):
        if claims and claims.notes():
            with _noted(claims, f"undo.{name}", "", turn):
                _undo_unfinished(spark, warehouse, claims, name, turn)
        yield


@contextmanager
def _turn(folder: Location, check: Callable[[], None] = lambda: None) -> Iterator[tuple[str, Turn, Claims | None]]:
    """A turn, its name, which no other ever has, and the claims of the warehouse."""
    with _IN_THIS_PROCESS, claim_turn(folder) as claimed:

        def check_both() -> None:
            check()
            claimed.check()

        yield claimed.name, Turn(check_both, claimed.name if are_leases(folder) else None), claims_of(folder)


@contextmanager
def _noted(claims: Claims, name: str, text: str, turn: Turn) -> Iterator[None]:
    """A note, from before the first commit, that stays if the turn does not come to its end.

    The turn is checked after the note is written. So whoever takes the turn finds the note, or this process finds out.
    """
    claims.write_note(name, text)
    turn.check()
    yield
    turn.check()
    claims.drop_note(name)


def _undo_unfinished(spark: SparkSession, warehouse: Warehouse, claims: Claims, own: str, turn: Turn) -> None:
    for note, text in claims.notes().items():
        run_id, _, other = note.partition(".")
        if other != own:
            if other and are_leases(warehouse.folder(spark)):
                _fence(spark, warehouse, other)
            _undo(spark, warehouse, run_id, text, turn)
            turn.check()
            claims.drop_note(note)


def _options(name: str, commit: int) -> dict[str, str]:
    """Options with which Delta skips the commit if one of the same turn with this number or a higher one is there."""
    return {"txnAppId": name, "txnVersion": str(commit)}


def _fence(spark: SparkSession, warehouse: Warehouse, turn: str) -> None:
    """Commits nothing in the name of another's turn, so that its process can commit nothing more, though it may be
    between its last check and a commit. A commit that it has begun conflicts with this one, a later one Delta skips.
    What it committed before is seen by whoever looks from now on.
    """
    tables = (*OUTPUTS, AUDIT_RUNS)
    warehouse.create(spark, tables)

    def fence(table: Table) -> None:
        nothing = spark.createDataFrame([], spark_schema(table)).select(*table.columns)
        writer = nothing.write.format("delta").mode("append").options(**_options(turn, _LAST_COMMIT))
        retry_on_conflict(lambda: warehouse.save(writer, table), f"fence {table.name}")

    run_in_parallel(*(partial(fence, table) for table in tables))


def _undo(spark: SparkSession, warehouse: Warehouse, run_id: str, text: str, turn: Turn) -> None:
    """The rows that the run replaced, in every table that has its commit; nothing where `audit_runs` names it."""
    try:
        spec = RunSpec.from_json(text)
    except json.JSONDecodeError:  # it died before its first table
        return
    if _is_published(spark, warehouse, run_id):
        return
    for table in OUTPUTS:
        version = warehouse.marked_version(spark, table, run_id) if warehouse.exists(spark, table) else None
        if version is not None:
            _LOG.warning("run %s died while it published: %s is put back as it was", run_id, table.name)
            _put_back(spark, warehouse, table, spec, version, turn)


def _is_published(spark: SparkSession, warehouse: Warehouse, run_id: str) -> bool:
    if not warehouse.exists(spark, AUDIT_RUNS):
        return False
    of_run = f"run_id = {literal(run_id)} AND outcome = 'published'"
    return not warehouse.read(spark, AUDIT_RUNS).where(of_run).isEmpty()


def _put_back(
    spark: SparkSession,
    warehouse: Warehouse,
    table: Table,
    spec: RunSpec,
    version: int,
    turn: Turn,
) -> None:
    """The run's rows as they were before this version."""
    rows = spec.replaces(table)
    before = warehouse.read(spark, table, version - 1).where(rows).select(*table.columns)
    writer = before.sortWithinPartitions(*table.key).write.format("delta").mode("overwrite")
    writer = writer.options(**turn.options())

    def commit() -> None:
        turn.check()
        warehouse.save(writer.option("replaceWhere", rows), table)

    retry_on_conflict(commit, f"put {table.name} back")
