"""List the runs."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import timedelta
from functools import partial

import pyarrow as pa
from rich.console import Console
from rich.text import Text

from schemas import AUDIT_RUNS
from spark_jobs.api.warehouse import AuditedWarehouse
from spark_jobs.cli.documents import answered
from spark_jobs.cli.questions import opened, time_of
from spark_jobs.cli.tables import Column, show_table
from spark_jobs.cli.terminal import print_line, show_next, zone_name
from spark_jobs.domain.model.intervals import Interval, format_utc
from spark_jobs.domain.phrases import count
from spark_jobs.errors import ExitCode
from spark_jobs.operate.missing import missing_times, recent_steps
from spark_jobs.show.rows import Row
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.published import runs_of


def runs_command(arguments: Namespace) -> int:
    """Exit code 0 whatever became of the runs; 2 where there is none, or where steps are missing, if asked for them."""
    if arguments.missing:
        return _missing_steps(arguments)
    with opened(arguments) as warehouse:
        warehouse.progress("reading the runs")
        runs = runs_of(warehouse.stored, _time(arguments, warehouse), rejected=True)
    if not answered(arguments, {"runs": runs}, partial(pa.Table.from_pylist, runs, arrow_schema(AUDIT_RUNS))):
        show_runs(Console(), runs)
        for row in [run for run in runs if run["outcome"] == "published"][:1]:
            show_next(f"verify {row['run_id']}", arguments.warehouse)
    return ExitCode.CLEAN if runs else ExitCode.WARNINGS


def _missing_steps(arguments: Namespace) -> int:
    with opened(arguments) as warehouse:
        interval = _time(arguments, warehouse)
        missing = missing_times(recent_steps(warehouse.stored, warehouse.clock(), interval))
    if not answered(arguments, {"missing": missing}, partial(_missing_table, missing or [])):
        show_missing(Console(), missing)
        if missing:
            show_next("backfill --only-missing", arguments.warehouse)
    return ExitCode.CLEAN if missing == [] else ExitCode.WARNINGS


def _missing_table(missing: Sequence[Row]) -> pa.Table:
    rows = [{**row, "interval_start": row["interval"].start, "interval_end": row["interval"].end} for row in missing]
    text, time = pa.string(), pa.timestamp("us", "UTC")
    columns = {"cluster": text, "interval_start": time, "interval_end": time, "why": text}
    return pa.Table.from_pylist(rows, pa.schema(columns))


def show_missing(console: Console, missing: Sequence[Row] | None) -> None:
    """Rows of `missing_times`."""
    if missing is None:
        print_line(console, "It is unknown what was recorded: `maintain` fills the table sightings.")
        return
    title = f"Recorded, and not audited ({zone_name()})"
    summary = f"{count(len(missing), 'time')} without a complete audit."
    show_table(console, title, _MISSING_COLUMNS, missing, summary)


def _time(arguments: Namespace, warehouse: AuditedWarehouse) -> Interval | None:
    """`--last` ends now: a rejected run leaves no audited step behind."""
    if arguments.last is None:
        return warehouse.time(**time_of(arguments, warehouse))
    now = warehouse.clock()
    return Interval(now - timedelta(seconds=arguments.last), now)


def show_runs(console: Console, runs: Sequence[Row]) -> None:
    """The runs in the order given."""
    title = f"Runs, newest first ({zone_name()})"
    show_table(console, title, _RUN_COLUMNS, runs, f"{count(len(runs), 'run')}.", ruled=True)


def _outcome(run: Row) -> Text:
    style = "dim" if run["outcome"] == "published" else "bold red"
    return Text.assemble(run["run_id"], (f"\n{run['outcome']}", style))


def _audited(run: Row) -> tuple[str, str]:
    """The interval, and of what."""
    of = " ".join(run[name] for name in ("cluster", "consumer_group", "topic") if run[name]) or "everything"
    return str(Interval(run["interval_start"], run["interval_end"])), of


_MISSING_COLUMNS: tuple[Column[Row], ...] = (
    Column("cluster", lambda row: row["cluster"], "{}", fold=True),
    Column("time", lambda row: str(row["interval"]), "{}", fold=True),
    Column("why", lambda row: row["why"], "{}"),
)
_RUN_COLUMNS: tuple[Column[Row], ...] = (
    Column("run\noutcome", _outcome, lambda run: f"{run['outcome']} run={run['run_id']}", fixed=True),
    Column("audited\nof", _audited, "interval={} of={}", fold=True),
    Column("finished", lambda run: format_utc(run["finished_at"]), "finished={}", fixed=True, drop=1),
    Column(
        "code\nconfiguration",
        lambda run: (run["code_version"], run["configuration_hash"][:16]),
        "code={} configuration={}",
        fold=True,
        drop=2,
    ),
)
