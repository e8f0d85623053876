"""Rebalance intervals of random fleets: Spark says what plain Python says, step by step."""

from __future__ import annotations

import os

import pytest
from pyspark.sql import SparkSession

from tests.replay.random_fleets import Fleet, random_fleet
from tests.replay.timelines import Timelines, by_domain, by_spark

#: Spark works on so many at once.
_BATCH = 400
#: A fleet has up to four histories in four steps each.
_CASES_PER_FLEET = 12


def test_random_fleets(spark: SparkSession) -> None:
    check_equal(spark, range(60))


@pytest.mark.fuzz
def test_many_random_fleets(spark: SparkSession) -> None:
    fleets = int(os.environ.get("FUZZ_CASES", "20000")) // _CASES_PER_FLEET
    for first in range(0, fleets, _BATCH):
        check_equal(spark, range(first, min(first + _BATCH, fleets)))


def check_equal(spark: SparkSession, seeds: range) -> None:
    """Fails with the smallest of the fleets on which Spark and plain Python differ."""
    fleets = {f"fleet {seed}": random_fleet(seed) for seed in seeds}
    whole, clipped = by_spark(spark, list(fleets.values()))
    _compare(fleets, by_domain(fleets.values()), whole)
    _compare(fleets, by_domain(fleets.values(), clipped_to_step=True), clipped)


def _compare(fleets: dict[str, Fleet], expected: Timelines, found: Timelines) -> None:
    keys = set(expected) | set(found)
    differing = sorted(key for key in keys if expected.get(key) != found.get(key))
    if differing:
        key = min(differing, key=lambda one: (fleets[one.cluster].size, one))
        lines = [f"{len(differing)} of {len(keys)} differ; in the smallest fleet, {key}", "plain Python:"]
        lines += [f"  {line}" for line in expected.get(key, [])]
        lines += ["Spark:", *(f"  {line}" for line in found.get(key, []))]
        pytest.fail("\n".join(lines))
