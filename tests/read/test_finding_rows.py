"""Rows of `findings` become the values that they were made of."""

from __future__ import annotations

from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.gather.rows import tables
from spark_jobs.read.finding_rows import published_finding
from spark_jobs.read.stored import rows
from tests.gather.test_rows import FINDING, JUDGED


def test_a_finding_comes_back_as_it_was_judged() -> None:
    row, *_ = rows(tables(JUDGED)["findings"])
    step = next(one.step for one in JUDGED if one.findings)
    key = step.history.cluster, step.history.consumer_group, step.window.start
    assert published_finding(row) == PublishedFinding(*key, FINDING)
