"""The demo: the recording that ships with the project, loaded and audited as anyone would do it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from spark_jobs.config.file import load
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.load import ingest
from spark_jobs.installation import ROOT
from spark_jobs.pipeline.run import RunRecord, RunSpec, run
from spark_jobs.show.incidents import publish_incidents
from spark_jobs.store.read.published import Scope
from spark_jobs.store.read.through_spark import SparkTables, stored_in
from spark_jobs.store.warehouse import Warehouse

#: The hour that holds the recording (02:02:27 to 02:26:28).
INTERVAL = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
#: The part of it that was recorded.
RECORDED = Interval.parse("2026-11-21T02:02/2026-11-21T02:27")
_EXAMPLES = ROOT / "examples"


class ExampleFiles(NamedTuple):
    """Input files of the demo."""

    recording: Path
    configuration: Path


def example_files() -> ExampleFiles:
    """The files of the demo; raises `InputFileError` where the project was installed without them."""
    files = ExampleFiles(_EXAMPLES / "recording.jsonl.gz", _EXAMPLES / "demo.yaml")
    for file in files:
        if not file.is_file():
            raise InputFileError(
                f"the demo needs {file}: run it from a clone of the project, installed with `make demo`"
            )
    return files


def demo(
    spark: SparkSession, warehouse: Warehouse, files: ExampleFiles, progress: Callable[[str], None]
) -> tuple[RunRecord, list[Incident], Path]:
    """Load and audit the recording; write the report alongside the tables or, for a catalog, in the working folder.

    Return the run, its incidents, and the report's file.
    """
    from spark_jobs.show.report import report, write_page  # the chart library takes a second

    configuration = load(files.configuration)
    ingest(spark, warehouse, [files.recording], progress=progress)
    result = run(spark, warehouse, RunSpec(INTERVAL), configuration, progress)
    incidents = publish_incidents(stored_in(spark, warehouse), configuration.routes, INTERVAL)
    page = report(SparkTables(spark, warehouse), Scope(RECORDED), progress)
    file = (warehouse.local_path or Path.cwd()) / "report.html"
    write_page(page, file)
    return result, incidents, file
