"""When a run has finished: after every run before it, whatever the clock says. No Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from pyspark.sql import SparkSession

from schemas import AUDIT_RUNS
from spark_jobs.pipeline.run_context import finished
from spark_jobs.store.warehouse import Warehouse
from tests.support.published import publish_hours
from tests.support.stored import write

NO_SPARK = cast(SparkSession, None)


def test_of_the_first_run_and_of_one_whose_clock_is_right_it_is_now(tmp_path: Path) -> None:
    warehouse, before = Warehouse.parse(str(tmp_path)), datetime.now(UTC)
    assert before <= finished(NO_SPARK, warehouse) <= datetime.now(UTC)
    publish_hours(tmp_path, [0])
    assert before <= finished(NO_SPARK, warehouse) <= datetime.now(UTC)


def test_of_a_clock_that_was_set_back_it_is_just_after_the_newest_run(tmp_path: Path) -> None:
    publish_hours(tmp_path, [0])
    ahead = datetime(2999, 1, 1, tzinfo=UTC)
    write(tmp_path, AUDIT_RUNS, [{"run_id": "ahead", "finished_at": ahead}])
    assert finished(NO_SPARK, Warehouse.parse(str(tmp_path))) == ahead + timedelta(microseconds=1)
