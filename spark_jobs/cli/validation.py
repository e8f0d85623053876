"""The expectations on what is in the warehouse, by Spark, and those that failed."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from rich.console import Console

from schemas import OUTPUTS, SOURCES
from spark_jobs.api.start import spark_for
from spark_jobs.cli.before import table_named
from spark_jobs.cli.documents import answered
from spark_jobs.cli.exit_codes import quality_exit_code
from spark_jobs.cli.tables import Column, severity_text, show_table
from spark_jobs.cli.terminal import print_to_stderr, printable, progress_on, show_next
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import EVER, format_utc
from spark_jobs.operate.validate import Validation, validate
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.store.read.delta import bytes_in
from spark_jobs.store.warehouse import Warehouse


def validate_with_spark(arguments: Namespace) -> int:
    """The `quality_exit_code` of the expectations that failed."""
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


def _validation_document(validation: Validation, failed: Sequence[Result]) -> dict[str, Any]:
    return {
        "run_id": validation.run_id,
        "interval": validation.interval,
        "checked": Counter(result.table_name for result in validation.results),
        "failed": failed,
        "pages": str(validation.pages) if validation.pages else None,
    }


#: A result of an expectation that failed in a step, as its row of `quality_results`.
Failure = Mapping[str, Any]


def show_failures(console: Console, failures: Sequence[Failure], checked: int) -> None:
    """Show the failed expectations, critical ones first: each with its first step, the observed value, and a key."""
    in_order = sorted(failures, key=lambda f: (f["severity"], f["table_name"], f["expectation"], f["step_start"]))
    per_expectation = by_key(in_order, itemgetter("table_name", "expectation", "column_name"))
    outcome = f"{len(per_expectation)} failed" if per_expectation else "all hold"
    summary = f"{checked} expectations × steps checked: {outcome}."
    show_table(console, "Failed expectations", _FAILURE_COLUMNS, [*per_expectation.values()], summary, ruled=True)


def _expectation(failures: Sequence[Failure]) -> tuple[str, str]:
    first = failures[0]
    column = f"({first['column_name']})" if first["column_name"] else ""
    return f"{first['expectation']}{column}", first["table_name"]


def _observed(failures: Sequence[Failure]) -> str:
    first, rows = failures[0], failures[0]["unexpected_count"]
    return f"{first['observed_value']:g}" if rows is None else f"{rows} rows ({first['unexpected_percent']:.2g} %)"


def _example(failures: Sequence[Failure]) -> str:
    return next(iter(failures[0]["examples"]), "")


def _first_and_count(failures: Sequence[Failure]) -> tuple[str, str]:
    return format_utc(failures[0]["step_start"]), str(len(failures))


def _example_word(failures: Sequence[Failure]) -> str:
    return f"example={_example(failures)}" if failures[0]["examples"] else ""


#: Of the failures of one expectation, the first step first.
_FAILURE_COLUMNS: tuple[Column[Sequence[Failure]], ...] = (
    Column("", lambda failures: severity_text(failures[0]["severity"]), "{}", fixed=True),
    Column("expectation\ntable", _expectation, "{} table={}", fold=True),
    Column("first step\nfailed steps", _first_and_count, "steps={1} first={0}", fixed=True),
    Column("observed", _observed, "observed={}", fold=True),
    Column("for example", _example, _example_word, fold=True),
)
