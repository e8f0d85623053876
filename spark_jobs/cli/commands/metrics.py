"""Write metrics for Prometheus, or serve them."""

import sys
from argparse import Namespace
from functools import partial
from pathlib import Path
from threading import Event

from schemas import AUDIT_RUNS
from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.cli.questions import opened
from spark_jobs.cli.terminal import printable, until_told
from spark_jobs.errors import ExitCode, UsageError


def metrics_command(arguments: Namespace) -> int:
    """Exit code 0 whatever the metrics tell: they have been written or sent, or served until SIGTERM."""
    if [arguments.textfile, arguments.serve, arguments.otlp].count(None) < 2:
        raise UsageError("metrics takes only one of --textfile, --serve and --otlp")
    if arguments.serve is not None:
        return _serve(arguments)
    with opened(arguments) as warehouse:
        from prometheus_client import generate_latest

        from spark_jobs.show.metrics import write_metrics

        gauges = warehouse.metrics(arguments.group, cluster=arguments.cluster)
    if arguments.otlp is not None:
        from spark_jobs.show.otlp import send_otlp

        send_otlp(gauges, arguments.otlp)
        return ExitCode.CLEAN
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


def _serve(arguments: Namespace) -> int:
    from spark_jobs.show.metrics_server import ServedMetrics, serve

    host, port = arguments.serve
    warehouse = open_warehouse(arguments.warehouse, arguments.config)
    read = partial(warehouse.metrics, arguments.group, cluster=arguments.cluster)
    metrics = ServedMetrics(read, lambda: warehouse.stored.version(AUDIT_RUNS))
    stopped = Event()

    def started(port: int) -> None:
        print(f"Serving http://{host}:{port}/metrics", flush=True)

    with until_told(stopped.set):
        serve(metrics, host, port, stopped, started)
    return ExitCode.CLEAN
