"""`validate`: the expectations, by Spark; with --sources what another program wrote into the source tables, without."""

from argparse import Namespace
from datetime import UTC, datetime
from functools import partial

from rich.console import Console

from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import quality_exit_code
from spark_jobs.cli.tables import Column, measure, severity_text, show_table
from spark_jobs.cli.terminal import progress_on, show_next
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.phrases import count
from spark_jobs.operate.own_sources import ProblemSeverity, SourceProblem, SourceReport, SourceSummary, check_sources
from spark_jobs.store.read.delta import delta_tables

_NAMES = {
    ProblemSeverity.CRITICAL: "critical problem",
    ProblemSeverity.WARNING: "warning",
    ProblemSeverity.NOTE: "note",
}


def validate_command(arguments: Namespace) -> int:
    """Exit code 1 for something critical, else 2 for a warning, else 0."""
    if not arguments.sources:
        from spark_jobs.cli.validation import validate_with_spark

        return validate_with_spark(arguments)
    configuration, tables = arguments.config, delta_tables(arguments.warehouse)
    with progress_on() as say:
        say("reading the source tables")
        report = check_sources(tables, configuration, datetime.now(UTC), arguments.interval)
    if not answered(arguments, vars(report)):
        show_sources(Console(), report)
        show_next("validate", arguments.warehouse)
    return quality_exit_code([problem.severity for problem in report.problems])


def show_sources(console: Console, report: SourceReport) -> None:
    """Show a line per source table, and a line per problem, with what to do."""
    required = count(sum(table.is_required for table in report.tables), "table")
    show_table(console, "Source tables (UTC)", _TABLES, report.tables, f"{required} required.")
    numbers = ", ".join(
        count(number, name)
        for severity, name in _NAMES.items()
        if (number := sum(problem.severity is severity for problem in report.problems))
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
