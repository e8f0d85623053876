"""Load recordings, or RocketMQ's logs, into the source tables."""

import os
from argparse import Namespace
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from spark_jobs.api.start import spark_for
from spark_jobs.cli.documents import as_json
from spark_jobs.cli.terminal import print_to_stderr, printable, progress_on, show_next
from spark_jobs.domain.model.intervals import Interval, StepGrid
from spark_jobs.errors import ExitCode
from spark_jobs.ingest.load import ingest
from spark_jobs.ingest.logs.recorded import LogRecording, recording_of_logs, write_recording
from spark_jobs.ingest.logs.snapshots import recorded_spans
from spark_jobs.ingest.logs.sources import LogFolder
from spark_jobs.runtime.scratch import scratch_folder
from spark_jobs.store.warehouse import Warehouse


def ingest_command(arguments: Namespace) -> int:
    """Exit code 2 where lines were quarantined, or nothing was there to be loaded."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with TemporaryDirectory(dir=scratch_folder()) as folder, progress_on() as say:
        logs = _recorded_by_logs(arguments, say) if arguments.logs else None
        size = sum(map(os.path.getsize, arguments.FILE))
        spark = spark_for(warehouse, arguments.scale, say, lambda _: size, checks=False)
        report = ingest(spark, warehouse, arguments.FILE, arguments.cluster_name, progress=say)
        if logs is not None:
            recorded = recorded_spans(spark, warehouse, arguments.cluster_name)
            file = write_recording(logs, Path(folder) / "logs.jsonl.gz", recorded)
            ingest(spark, warehouse, [file], progress=say, report=report)
    lines = [as_json(vars(report))] if arguments.json else map(printable, str(report).splitlines())
    print(*lines, sep="\n")
    if report.span is None:
        print_to_stderr("warning: the files hold no snapshot: there is nothing to audit")
    elif not arguments.json:
        show_next("run", arguments.warehouse, interval=str(_hours(*report.span)))
    return ExitCode.WARNINGS if report.quarantined or report.span is None else ExitCode.CLEAN


def _recorded_by_logs(arguments: Namespace, say: Callable[[str], None]) -> LogRecording:
    """The recording that the logs make; says what was read of them."""
    say("reading the logs")
    folders = [LogFolder.parse(text) for text in arguments.logs]
    recordings = list(map(Path, arguments.FILE))
    recording = recording_of_logs(folders, arguments.cluster_name, arguments.log_zone, recordings, arguments.state_at)
    for line in str(recording).splitlines():
        print_to_stderr(line)
    return recording


def _hours(earliest: datetime, latest: datetime) -> Interval:
    """The whole hours around these times, which `run` audits unless configured otherwise."""
    grid = StepGrid(timedelta(hours=1))
    return Interval(grid.floor(earliest), grid.floor(latest) + grid.length)
