"""What runs side by side keeps its order, its errors and the caller's name for Spark's jobs."""

from __future__ import annotations

from functools import partial
from threading import Barrier, Event

import pytest
from pyspark.sql import SparkSession

from spark_jobs.side_by_side import side_by_side


def test_results_are_in_the_order_of_the_acts(spark: SparkSession) -> None:
    second_is_done = Event()

    def first() -> int:
        assert second_is_done.wait(timeout=60)
        return 1

    def second() -> int:
        second_is_done.set()
        return 2

    assert side_by_side(first, second) == [1, 2]
    assert side_by_side(*(partial(int, str(number)) for number in range(30))) == list(range(30))


def test_four_are_worked_on_at_once(spark: SparkSession) -> None:
    together = Barrier(4, timeout=60)
    assert sorted(side_by_side(*[together.wait] * 4)) == [0, 1, 2, 3]


def test_the_first_error_is_raised_when_all_have_ended(spark: SparkSession) -> None:
    ended = []

    def fails(text: str) -> None:
        raise ValueError(text)

    with pytest.raises(ValueError, match="the first"):
        side_by_side(
            partial(ended.append, 1), partial(fails, "the first"), partial(fails, "two"), lambda: ended.append(2)
        )
    assert sorted(ended) == [1, 2]


def test_jobs_are_described_as_the_caller_says(spark: SparkSession) -> None:
    context = spark.sparkContext
    context.setJobDescription("measuring")
    try:
        assert side_by_side(*[lambda: context.getLocalProperty("spark.job.description")] * 2) == ["measuring"] * 2
    finally:
        context.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type]
