"""Audit steps again whose snapshots came late."""

from argparse import Namespace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.cli.before import check_audit
from spark_jobs.cli.commands.run import run_document
from spark_jobs.cli.commands.runs import show_missing
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import steps_exit_code
from spark_jobs.cli.terminal import print_to_stderr, progress_on, show_next
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ExitCode, RebalanceAuditError
from spark_jobs.operate.backfill import Outcome, audited, backfill, failed
from spark_jobs.operate.late import is_nothing_late, late_steps
from spark_jobs.operate.missing import missing_times, recorded_steps
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.stored import StoredTables
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse


def late_command(arguments: Namespace) -> int:
    """The `steps_exit_code` of the late steps; 2 in the place of 0 if steps are missing."""
    configuration, warehouse = arguments.config, Warehouse.parse(arguments.warehouse)
    steps: list[Interval] = []
    late: dict[Interval, Outcome] = {}
    tables = DeltaTables(warehouse)
    stored: StoredTables = tables
    with progress_on() as say:
        say("looking for late snapshots")
        if not is_nothing_late(tables, configuration, arguments.interval):
            check_audit(arguments)
            spark = spark_for(warehouse, arguments.scale, say, snapshots_of(arguments.interval))
            stored = stored_in(spark, warehouse)
            say("looking for late snapshots")
            steps = late_steps(spark, warehouse, configuration, arguments.interval)
            late = backfill(
                spark,
                warehouse,
                () if arguments.dry_run else steps,
                configuration,
                # What became of the step is printed below.
                progress=lambda step, message, has_ended: None if has_ended else say(f"{step}: {message}"),
                with_findings=True,
            )
        recorded = recorded_steps(stored, configuration, datetime.now(UTC), arguments.interval)
    missing = missing_times(recorded)
    documents = [_late_document(step, late.get(step)) for step in steps]
    if not answered(arguments, {"interval": arguments.interval, "late": documents, "missing": missing}):
        for step in steps if arguments.dry_run else ():
            print(f"{step}: would be audited again")
        for step, record in audited(late).items():
            print(f"{step}: audited again, {len(record.findings)} findings")
        print(f"{len(steps)} published steps of {arguments.interval} were late.")
        if missing != []:
            show_missing(Console(), missing)
        show_next("status", arguments.warehouse)
    for step, error in failed(late).items():
        print_to_stderr(f"{step}: {error}")
    code = steps_exit_code(late.values(), arguments.fail_on)
    return code or (ExitCode.WARNINGS if missing else code)


def _late_document(step: Interval, outcome: Outcome | None) -> dict[str, Any]:
    """The step alone if it was not audited again (--dry-run)."""
    if outcome is None:
        return {"step": step}
    of_step = {"error": str(outcome)} if isinstance(outcome, RebalanceAuditError) else run_document(outcome)
    return {"step": step} | of_step
