"""One task of a scheduled run."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from spark_jobs.api.start import snapshots_of, spark_for
from spark_jobs.cli.commands.run import show_warnings
from spark_jobs.cli.terminal import printable, progress_on
from spark_jobs.errors import ExitCode
from spark_jobs.pipeline import tasks
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.show.incidents import publish_incidents
from spark_jobs.store.read.through_spark import stored_in
from spark_jobs.store.warehouse import Warehouse


def task_command(arguments: Namespace) -> int:
    """Exit code 0 also with warnings: a scheduler takes any other for a failure."""
    configuration, warehouse = arguments.config, Warehouse.parse(arguments.warehouse)
    spec = RunSpec(arguments.interval, arguments.cluster, arguments.group)
    with progress_on() as say:
        spark = spark_for(warehouse, arguments.scale, say, snapshots_of(arguments.interval))
        task = getattr(tasks, f"{arguments.TASK}_task")
        record = task(spark, warehouse, spec, configuration, arguments.run, say)
        if arguments.TASK == "publish":
            publish_incidents(stored_in(spark, warehouse), configuration.routes, arguments.interval)
    print(printable(_says(record.run)))
    show_warnings(record)
    return ExitCode.CLEAN


def _says(run: Mapping[str, Any]) -> str:
    """The work of the task in words, by the row of its run."""
    if run["outcome"] == "staged":
        read = ", ".join(f"{name} {version}" for name, version in run["source_versions"].items())
        return f"run {run['run_id']} has read {read}, and staged its results"
    rows = ", ".join(f"{name} {count}" for name, count in run["row_counts"].items())
    return f"run {run['run_id']} published {rows} rows"
