"""Write the page of an interval, and a trace."""

from argparse import Namespace
from pathlib import Path

from spark_jobs.cli.questions import opened, time_of
from spark_jobs.cli.terminal import printable, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.show.files import check_writable
from spark_jobs.store.read.published import Scope


def report_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    check_writable(Path(arguments.out), "report")
    if arguments.trace is not None:
        check_writable(Path(arguments.trace), "trace")
    with opened(arguments) as warehouse:
        time = time_of(arguments, warehouse)
        page = warehouse.report(arguments.group, cluster=arguments.cluster, **time, detailed=arguments.details)
    page.save(arguments.out)
    print(f"The report is in {printable(arguments.out)}: open it in a browser")
    if arguments.trace is not None:
        with opened(arguments) as warehouse:
            from spark_jobs.show.trace import trace

            scope = Scope(warehouse.time(**time, cluster=arguments.cluster), arguments.cluster, arguments.group)
            left_out = trace(warehouse.stored, scope, Path(arguments.trace), warehouse.progress)
        print(f"The trace is in {printable(arguments.trace)}: open it in ui.perfetto.dev, or with trace_processor")
        print(*(f"{printable(note)}\n" for note in left_out), sep="", end="")
    show_next("status", arguments.warehouse)
    return ExitCode.CLEAN
