"""Audit a published run again and compare."""

from argparse import Namespace

from schemas import SOURCES
from spark_jobs.api.start import spark_for
from spark_jobs.cli.documents import answered
from spark_jobs.cli.terminal import printable, progress_on, show_next
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import ExitCode
from spark_jobs.operate.verify import verify
from spark_jobs.store.read.delta import DeltaTables, bytes_in
from spark_jobs.store.read.published import published_run
from spark_jobs.store.warehouse import Warehouse


def verify_command(arguments: Namespace) -> int:
    """Exit code 0 where everything is as it was published, else 1."""
    warehouse = Warehouse.parse(arguments.warehouse)
    with progress_on() as say:
        spark = spark_for(warehouse, arguments.scale, say, lambda tables: _bytes_to_verify(tables, arguments.RUN_ID))
        result = verify(spark, warehouse, arguments.RUN_ID, say)
    if not answered(arguments, vars(result)):
        same_code = (
            "the same code" if result.code_then == result.code_now else f"{result.code_then}, now {result.code_now}"
        )
        for name, contents in result.differs.items():
            texts = (f"{content['rows']:,} rows ({content['hash']})" for content in contents.values())
            print(f"{name} differs: published were {', now it is '.join(texts)}")
        outcome = "not as it was published" if result.differs else "as it was published, row by row"
        print(f"The run {printable(result.run_id)} of {result.interval} is {outcome}; {same_code}.")
        show_next("report", arguments.warehouse, interval=str(result.interval))
    return ExitCode.FINDINGS if result.differs else ExitCode.CLEAN


def _bytes_to_verify(tables: DeltaTables, run_id: str) -> int:
    run = published_run(tables, run_id)
    return bytes_in(tables, SOURCES, Interval(run["interval_start"], run["interval_end"]))
