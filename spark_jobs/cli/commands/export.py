"""Write the snapshots of one incident as a recording."""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import own_command, printable
from spark_jobs.config import Configuration
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.phrases import count
from spark_jobs.errors import ExitCode, OutputError, UsageError
from spark_jobs.operate.anonymous import NewNames
from spark_jobs.operate.export import case_of, check_not_hashed, export
from spark_jobs.show.files import check_writable


def export_command(arguments: Namespace) -> int:
    """Exit code 0: the file has been written."""
    file = Path(arguments.out)
    if file.exists():
        raise OutputError(f"{file} exists: choose another --out")
    check_writable(file, "case file")
    with opened(arguments) as warehouse:
        incident = _only(arguments.incident, warehouse.incidents(incident_id=arguments.incident).incidents)
        case = case_of(warehouse.stored, incident)
        if arguments.anonymous:
            check_not_hashed(warehouse.stored, case)
        names = NewNames(case.consumer_groups) if arguments.anonymous else None
        warehouse.progress("reading its snapshots")
        number = export(warehouse.stored, case, file, names)
    groups = count(len(case.consumer_groups), "consumer group")
    print(f"{printable(arguments.out)} has {count(number, 'snapshot')} of {groups}. To audit it:")
    print(f"{own_command()} ingest {printable(shlex.quote(arguments.out))} --warehouse case")
    print(f"{own_command()} run --warehouse case --interval {case.steps}")
    if case.configuration != Configuration():
        print("The audit was configured: send its file too, and give it to run with --config")
    return ExitCode.CLEAN


def _only(prefix: str, incidents: Sequence[Incident]) -> Incident:
    if len(incidents) > 1:
        raise UsageError(f"the ids of {len(incidents):,} incidents begin with {prefix}: give more of the id")
    return incidents[0]
