"""`validate`: the expectations, by Spark; without it, --sources: what another program wrote, and --store: a store."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from expectations.suite import Severity
from schemas import OUTPUTS, SOURCES
from spark_jobs.cli.before import table_named
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import quality_exit_code
from spark_jobs.cli.tables import Column, measure, severity_text, show_table
from spark_jobs.cli.terminal import print_to_stderr, printable, progress_on, show_next
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, format_utc
from spark_jobs.domain.phrases import count
from spark_jobs.errors import ExitCode
from spark_jobs.operate.own_sources import NOTE, SourceProblem, SourceReport, SourceSummary, check_sources
from spark_jobs.operate.store_check import check_store
from spark_jobs.show.rows import Row
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import bytes_in, delta_tables

if TYPE_CHECKING:
    from spark_jobs.operate.validate import Validation
    from spark_jobs.pipeline.quality.checks import Result

_NAMES = {
    Severity.CRITICAL: "critical problem",
    Severity.WARNING: "warning",
    NOTE: "note",
}


def validate_command(arguments: Namespace) -> int:
    """Exit code 1 for something critical, else 2 for a warning, else 0."""
    if arguments.store is not None:
        return _store(arguments)
    return _sources(arguments) if arguments.sources else _expectations(arguments)


def _store(arguments: Namespace) -> int:
    location = Location.parse(arguments.store)
    with progress_on() as say:
        passed = check_store(location, say)
    if not answered(arguments, {"store": location.location, "passed": passed}):
        print(f"Yes: {printable(location.location)} can hold a warehouse.")
    return ExitCode.CLEAN


def _sources(arguments: Namespace) -> int:
    configuration, tables = arguments.config, delta_tables(arguments.warehouse)
    with progress_on() as say:
        say("reading the source tables")
        report = check_sources(tables, configuration, datetime.now(UTC), arguments.interval)
    if not answered(arguments, vars(report)):
        show_sources(Console(), report)
        show_next("validate", arguments.warehouse)
    return quality_exit_code([problem.severity for problem in report.problems])


def _expectations(arguments: Namespace) -> int:
    # These import pyspark, which --sources does not need.
    from spark_jobs.api.start import spark_for
    from spark_jobs.operate.validate import validate
    from spark_jobs.store.warehouse import Warehouse

    configuration, warehouse = arguments.config, Warehouse.parse(arguments.warehouse)
    table = table_named(arguments.table) if arguments.table is not None else None
    tables, time = [table] if table else [*SOURCES, *OUTPUTS], arguments.interval or EVER
    with progress_on() as say:
        spark = spark_for(warehouse, arguments.scale, say, lambda stored: bytes_in(stored, tables, time))
        validation = validate(spark, warehouse, configuration, table, arguments.interval, say)
    failed = [result for result in validation.results if not result.success]
    if not answered(arguments, _validation_document(validation, failed)):
        show_failures(Console(), [result._asdict() for result in failed], len(validation.results))
        if validation.pages:
            print(f"The pages are in {printable(str(validation.pages))}")
    if not any(result.unexpected_count is not None for result in validation.results):
        print_to_stderr(f"warning: there is nothing in {validation.interval or 'the tables'}")
    if not arguments.json:
        show_next("status", arguments.warehouse)
    return quality_exit_code([result.severity for result in failed])


def show_sources(console: Console, report: SourceReport) -> None:
    """Show a line per source table, and a line per problem, with what to do."""
    required = count(sum(table.is_required for table in report.tables), "table")
    show_table(console, "Source tables (UTC)", _TABLES, report.tables, f"{required} required.")
    numbers = ", ".join(
        count(number, name)
        for severity, name in _NAMES.items()
        if (number := sum(problem.severity == severity for problem in report.problems))
    )
    show_table(console, "Problems", _PROBLEMS, report.problems, f"{numbers or 'No problem'}.", ruled=True)


def _time(summary: SourceSummary, name: str) -> str:
    moment = getattr(summary, name)
    return "-" if moment is None else format_utc(moment.replace(microsecond=0))


def _usual(summary: SourceSummary) -> str:
    return "-" if summary.usual_seconds is None else f"{summary.usual_seconds:.4g} s"


def _number(summary: SourceSummary, name: str) -> str:
    number = getattr(summary, name)
    return "-" if number is None else f"{number:,}"


def _problem(problem: SourceProblem) -> tuple[str, str]:
    return problem.problem, f"for example {', '.join(problem.examples)}" if problem.examples else ""


def _problem_line(problem: SourceProblem) -> str:
    text, examples = _problem(problem)
    return f"{text} ({examples}):" if examples else f"{text}:"


_TABLES: tuple[Column[SourceSummary], ...] = (
    Column("table", lambda row: row.table, "table={}", fixed=True),
    Column("", lambda row: "required" if row.is_required else "optional", "{}", fixed=True, drop=2),
    measure("rows", "rows", partial(_number, name="rows")),
    measure("keys", "keys", partial(_number, name="keys"), drop=1),
    Column("first", partial(_time, name="first"), "first={}", fixed=True),
    Column("last", partial(_time, name="last"), "last={}", fixed=True),
    measure("usually\napart", "apart", _usual, fixed=True),
)
_PROBLEMS: tuple[Column[SourceProblem], ...] = (
    Column("", lambda problem: severity_text(problem.severity), "{}", fixed=True),
    Column("table", lambda problem: problem.table, "{}:", fold=True),
    Column("problem", _problem, _problem_line, fold=True),
    Column("what to do", lambda problem: problem.advice, "{}"),
)


def _validation_document(validation: Validation, failed: Sequence[Result]) -> dict[str, Any]:
    return {
        "run_id": validation.run_id,
        "interval": validation.interval,
        "checked": Counter(result.table_name for result in validation.results),
        "failed": failed,
        "pages": str(validation.pages) if validation.pages else None,
    }


def show_failures(console: Console, failures: Sequence[Row], checked: int) -> None:
    """Show the failed expectations, critical ones first: each with its first step, the observed value, and a key."""
    in_order = sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"]))
    per_expectation = by_key(in_order, itemgetter("table_name", "expectation", "column_name"))
    outcome = f"{len(per_expectation)} failed" if per_expectation else "all hold"
    summary = f"{checked} expectations × steps checked: {outcome}."
    show_table(console, "Failed expectations", _FAILURE_COLUMNS, [*per_expectation.values()], summary, ruled=True)


def _expectation(failures: Sequence[Row]) -> tuple[str, str]:
    first = failures[0]
    column = f"({first['column_name']})" if first["column_name"] else ""
    return f"{first['expectation']}{column}", first["table_name"]


def _observed(failures: Sequence[Row]) -> str:
    first, rows = failures[0], failures[0]["unexpected_count"]
    return f"{first['observed_value']:g}" if rows is None else f"{rows} rows ({first['unexpected_percent']:.2g} %)"


def _example(failures: Sequence[Row]) -> str:
    return next(iter(failures[0]["examples"]), "")


def _first_and_count(failures: Sequence[Row]) -> tuple[str, str]:
    return format_utc(failures[0]["step_start"]), str(len(failures))


def _example_word(failures: Sequence[Row]) -> str:
    return f"example={_example(failures)}" if failures[0]["examples"] else ""


#: Of the failures of one expectation, the first step first.
_FAILURE_COLUMNS: tuple[Column[Sequence[Row]], ...] = (
    Column("", lambda failures: severity_text(failures[0]["severity"]), "{}", fixed=True),
    Column("expectation\ntable", _expectation, "{} table={}", fold=True),
    Column("first step\nfailed steps", _first_and_count, "steps={1} first={0}", fixed=True),
    Column("observed", _observed, "observed={}", fold=True),
    Column("for example", _example, _example_word, fold=True),
)
