"""Rows of `findings` become the values that they were made of."""

from __future__ import annotations

from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.pipeline.gather.rows import tables
from spark_jobs.store.read.finding_rows import published_findings
from tests.unit.gather.test_rows import FINDING, JUDGED


def test_a_finding_comes_back_as_it_was_judged() -> None:
    found, *_ = published_findings(tables(JUDGED)["findings"])
    step = next(one.step for one in JUDGED if one.findings)
    key = step.history.cluster, step.history.consumer_group, step.window.start
    assert found == PublishedFinding(*key, FINDING)
