"""Write metrics for Prometheus."""

import sys
from argparse import Namespace
from pathlib import Path

from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import printable
from spark_jobs.errors import ExitCode


def metrics_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the metrics tell: they have been written."""
    with opened(arguments) as warehouse:
        from prometheus_client import generate_latest

        from spark_jobs.show.metrics import write_metrics

        gauges = warehouse.metrics(arguments.group, cluster=arguments.cluster)
    if arguments.textfile is None:
        # Line by line: on a terminal no name steers it, and a program reads what it would in a file.
        text = generate_latest(gauges).decode()
        print("\n".join(map(printable, text.split("\n"))) if sys.stdout.isatty() else text, end="")
        return ExitCode.CLEAN
    file = Path(arguments.textfile)
    write_metrics(gauges, file)
    if file.suffix != ".prom":
        print("node_exporter reads only files that end in .prom", file=sys.stderr)
    return ExitCode.CLEAN
