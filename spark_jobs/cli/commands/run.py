"""Audit whole steps and show the incidents."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from spark_jobs.cli.commands.incidents import show_incidents
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.exit_codes import run_exit_code
from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import print_to_stderr, printable, show_next
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.show.text.incident_text import worst_first
from spark_jobs.show.text.phrases import severity_counts
from spark_jobs.store.location import Location


def run_command(arguments: Namespace) -> int:
    """The `run_exit_code` of one run."""
    spec = RunSpec(arguments.interval, arguments.cluster, arguments.group, arguments.topic)
    with opened(arguments) as warehouse:
        result, incidents = warehouse.audit(spec, scale=arguments.scale)
    if not answered(arguments, run_document(result)):
        show_result(result, warehouse.location, incidents)
    show_warnings(result)
    if not arguments.json:
        show_next("report", arguments.warehouse, interval=str(arguments.interval))
    return run_exit_code(result, arguments.fail_on)


def run_document(result: RunRecord) -> dict[str, Any]:
    """A run for `as_json`."""
    names = ("run", "findings", "warnings", "quality_warnings", "observed")
    return {name: getattr(result, name) for name in names} | {"coverage": coverage_document(result.coverage)}


def show_result(result: RunRecord, warehouse: Location, incidents: Sequence[Incident]) -> None:
    """Show the incidents, and where the tables are."""
    show_incidents(Console(), worst_first(incidents), result.coverage)
    print(f"The tables are in {printable(warehouse.location)}")


def show_warnings(result: RunRecord) -> None:
    """Print what the reader should know of what was not audited, on stderr."""
    for warning in result.warnings + result.quality_warnings:
        print_to_stderr(f"warning: {warning}")


def findings_text(counts: Mapping[str, int]) -> str:
    """How many findings there are, by severity: `3 findings: 1 ERROR, 2 INFO`."""
    number = sum(counts.values())
    severities = ", ".join(severity_counts(counts))
    return f"{number} finding{'' if number == 1 else 's'}: {severities}" if severities else "No findings."
