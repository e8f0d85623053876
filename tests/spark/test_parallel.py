"""Work in parallel keeps its order, its errors and the caller's name for Spark's jobs."""

import time
from functools import partial
from threading import Barrier, Event

import pytest
from pyspark.sql import SparkSession

from spark_jobs.store.parallel import in_background, run_in_parallel


def test_results_are_in_the_order_of_the_functions(spark: SparkSession) -> None:
    second_is_done = Event()

    def first() -> int:
        assert second_is_done.wait(timeout=60)
        return 1

    def second() -> int:
        second_is_done.set()
        return 2

    assert run_in_parallel(first, second) == [1, 2]
    assert run_in_parallel(*(partial(int, str(number)) for number in range(30))) == list(range(30))


def test_four_are_worked_on_at_once(spark: SparkSession) -> None:
    together = Barrier(4, timeout=60)
    assert sorted(run_in_parallel(*[together.wait] * 4)) == [0, 1, 2, 3]


def test_an_error_is_raised_when_what_was_begun_has_ended_and_nothing_else_begins(spark: SparkSession) -> None:
    all_have_begun, ended, begun_later = Barrier(4, timeout=60), [], []

    def fails(text: str) -> None:
        all_have_begun.wait()
        raise ValueError(text)

    def takes_a_while() -> None:
        all_have_begun.wait()
        time.sleep(0.5)
        ended.append(True)

    def comes_later() -> None:
        begun_later.append(True)
        time.sleep(0.2)

    with pytest.raises(ValueError, match="the first"):
        run_in_parallel(partial(fails, "the first"), partial(fails, "2"), *[takes_a_while] * 2, *[comes_later] * 20)
    assert ended == [True, True]
    assert len(begun_later) < 10


def test_a_function_works_beside_a_block_which_waits_for_its_end(spark: SparkSession) -> None:
    block_is_there, ended = Event(), []

    def function() -> None:
        assert block_is_there.wait(timeout=60)
        time.sleep(0.2)
        ended.append(True)

    with in_background(function):
        block_is_there.set()
    assert ended == [True]


def test_the_error_of_a_function_beside_a_block_counts_unless_the_block_fails(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError), in_background(lambda: 1 // 0):
        pass
    with pytest.raises(KeyboardInterrupt), in_background(lambda: 1 // 0):
        raise KeyboardInterrupt


def test_jobs_are_described_as_the_caller_says(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setJobDescription("measuring")
    try:
        assert run_in_parallel(*[lambda: context.getLocalProperty("spark.job.description")] * 2) == ["measuring"] * 2
    finally:
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
