"""Write the page of an interval."""

from argparse import Namespace
from pathlib import Path

from spark_jobs.cli.questions import opened, time_of
from spark_jobs.cli.terminal import printable, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.show.files import check_writable


def report_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the page shows: it has been written."""
    check_writable(Path(arguments.out), "report")
    with opened(arguments) as warehouse:
        time = time_of(arguments, warehouse)
        page = warehouse.report(arguments.group, cluster=arguments.cluster, **time, detailed=arguments.details)
    page.save(arguments.out)
    print(printable(f"The report is in {arguments.out}: open it in a browser"))
    show_next("status", arguments.warehouse)
    return ExitCode.CLEAN
