"""Compact, upgrade and check all tables, delete old rows, and show what was done."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from rich.console import Console

from schemas import TABLES
from spark_jobs.api.start import spark_for
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.cli.documents import answered
from spark_jobs.cli.tables import Column, measure, show_table
from spark_jobs.cli.terminal import print_line, progress_on, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.operate.maintain import check_retention, maintain
from spark_jobs.operate.retention import (
    ExpiredRows,
    ForgottenCluster,
    Keep,
    delete_expired,
    expired_rows,
    forget_cluster,
    forgettable,
)
from spark_jobs.operate.upgrade import Upgraded, upgrade
from spark_jobs.operate.upkeep import Maintained, nothing_to_maintain
from spark_jobs.store.read.delta import DeltaTables, bytes_in, is_surely_reached
from spark_jobs.store.warehouse import Warehouse

#: By kind.
Changes = dict[str, Sequence[Upgraded | ExpiredRows | ForgottenCluster]]


def maintain_command(arguments: Namespace) -> int:
    """Exit code 0 where every table was maintained; what does not hold is an error."""
    warehouse, retention = Warehouse.parse(arguments.warehouse), timedelta(days=arguments.retention_days)
    keep = Keep(arguments.keep_snapshots, arguments.keep_results, arguments.keep_quarantine)
    check_retention(retention)
    if arguments.dry_run:
        return _show_plan(arguments, keep)
    changes: Changes = {}
    with progress_on() as say:
        say("looking for what is to be done")
        forgotten = _to_forget(arguments, say)
        is_more = arguments.upgrade or forgotten or not is_surely_reached(warehouse)
        tables = DeltaTables(warehouse)
        is_more = is_more or expired_rows(tables, keep, say)
        maintained = None if is_more else nothing_to_maintain(tables, retention)
        if maintained is None:
            spark = spark_for(warehouse, arguments.scale, say, lambda tables: bytes_in(tables, TABLES), checks=False)
            if arguments.upgrade:
                changes["upgraded"] = upgrade(spark, warehouse, say)
            if deleted := delete_expired(spark, warehouse, keep, say):
                changes["deleted"] = deleted
            for cluster in forgotten:
                forget_cluster(spark, warehouse, cluster)
                changes["forgotten"] = forgotten
            maintained = maintain(spark, warehouse, retention, say)
    if not answered(arguments, {"tables": maintained} | changes):
        _show_changes(changes)
        show_maintained(Console(), maintained)
        show_next("status", arguments.warehouse)
    return ExitCode.CLEAN


def _to_forget(arguments: Namespace, say: Callable[[str], None]) -> list[ForgottenCluster]:
    """The cluster that is named, if one is."""
    if arguments.forget_cluster is None:
        return []
    stored = open_warehouse(arguments.warehouse, progress=say).stored
    return [forgettable(stored, arguments.forget_cluster, datetime.now(UTC))]


def _show_plan(arguments: Namespace, keep: Keep) -> int:
    """Show what the same command without --dry-run deletes and forgets."""
    changes: Changes = {}
    with progress_on() as say:
        changes["would_delete"] = expired_rows(open_warehouse(arguments.warehouse, progress=say).stored, keep, say)
        if forgotten := _to_forget(arguments, say):
            changes["would_forget"] = forgotten
    if not answered(arguments, changes):
        _show_changes(changes)
    return ExitCode.CLEAN


def _show_changes(changes: Changes) -> None:
    for kind, of_kind in changes.items():
        verb, nothing = _CHANGES[kind]
        for change in of_kind:
            print_line(Console(), f"{verb}{change}")
        if not of_kind:
            print(nothing)


#: How a change of each kind begins, and what is shown where there is none.
_CHANGES = {
    "upgraded": ("", "All tables are up to date."),
    "deleted": ("deleted from ", ""),
    "would_delete": ("would delete from ", "No rows are older than they are kept."),
    "forgotten": ("forgot ", ""),
    "would_forget": ("would forget ", ""),
}


def show_maintained(console: Console, maintained: Sequence[Maintained]) -> None:
    """Files and MB before and after, and how long versions stay readable."""
    summary = f"{len(maintained)} tables maintained; their constraints hold."
    show_table(console, "Maintained tables", _MAINTAINED, maintained, summary)


_MAINTAINED: tuple[Column[Maintained], ...] = (
    Column("table", lambda table: table.table, "{}", fold=True),
    measure("files", "files", lambda table: f"{table.files_before}→{table.files_after}", fixed=True),
    measure("MB", "MB", lambda table: f"{table.bytes_before / 1e6:.1f}→{table.bytes_after / 1e6:.1f}", fixed=True),
    measure("version", "version", lambda table: f"{table.version_before}→{table.version_after}", fixed=True),
    measure("days kept", "days_kept", lambda table: str(table.retention_days), fixed=True),
)
