"""Audit steps again whose snapshots came late."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from spark_jobs.api.start import snapshots_of
from spark_jobs.cli.documents import answered, run_document
from spark_jobs.cli.exit_codes import run_exit_code, worst
from spark_jobs.cli.session import spark_for
from spark_jobs.cli.terminal import print_to_stderr, progress_on, show_next
from spark_jobs.config.file import load
from spark_jobs.errors import RebalanceAuditError
from spark_jobs.operate.late import Reaudit, is_nothing_late, reaudit_late
from spark_jobs.store.warehouse import Warehouse


def late_command(arguments: Namespace) -> int:
    """The worst of the exit codes that the late steps have, each by itself."""
    configuration, warehouse = load(arguments.config), Warehouse.parse(arguments.warehouse)
    late: list[Reaudit] = []
    with progress_on() as say:
        say("looking for late snapshots")
        if not is_nothing_late(warehouse, configuration, arguments.interval):
            spark = spark_for(arguments, say, snapshots_of(arguments.interval))
            late = reaudit_late(spark, warehouse, configuration, arguments.interval, say)
    documents = [_reaudit_document(reaudit) for reaudit in late]
    if not answered(arguments, {"interval": arguments.interval, "late": documents}):
        for reaudit in late:
            if not isinstance(reaudit.outcome, RebalanceAuditError):
                print(f"{reaudit.step}: audited again, {len(reaudit.outcome.findings)} findings")
        print(f"{len(late)} published steps of {arguments.interval} were late.")
        show_next("status", arguments.warehouse)
    for reaudit in late:
        if isinstance(reaudit.outcome, RebalanceAuditError):
            print_to_stderr(f"{reaudit.step}: {reaudit.outcome}")
    return worst(
        outcome.exit_code if isinstance(outcome, RebalanceAuditError) else run_exit_code(outcome, arguments.fail_on)
        for outcome in (reaudit.outcome for reaudit in late)
    )


def _reaudit_document(reaudit: Reaudit) -> dict[str, Any]:
    outcome = reaudit.outcome
    of_step = {"error": str(outcome)} if isinstance(outcome, RebalanceAuditError) else run_document(outcome)
    return {"step": reaudit.step} | of_step
