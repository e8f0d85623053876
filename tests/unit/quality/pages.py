"""Runs with pages, made of hand-written rows that keep or break rules."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from great_expectations.expectations.metadata_types import FailureSeverity

from expectations import BY_TABLE
from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.quality.checks import Result
from spark_jobs.pipeline.quality.facts import Facts, counts_of, step_facts
from spark_jobs.pipeline.quality.step_expectations import ExpectFewRowsToBeQuarantined
from spark_jobs.pipeline.quality.suites import suite
from spark_jobs.pipeline.quality.validation import validate, write_pages
from tests.support.snapshots import membership
from tests.support.times import at
from tests.unit.expectations import cases
from tests.unit.expectations.cases import arrow_rows

SUITE = BY_TABLE[MEMBERSHIP_SNAPSHOTS]
SETTINGS = replace(cases.SETTINGS, read_start=at(-3600), read_end=at(7200))
#: Names that would be markup, code or another direction of writing if they were believed.
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "\"'><img src=x onerror=\"document.title = 'owned'\">",
    "javascript:document.title='owned'",
    "&lt;b&gt; ${name} {{ 7 * 7 }} $says",
    "\u202eevil\u2066",
)


def rows(*broken: str, kept: int = 3) -> Facts:
    """What is counted of so many rows of one step that keep every rule, and one per name whose connection has no client
    id.
    """
    good = [membership(second, "c1") for second in range(kept)]
    return counted(good + [membership(100 + place, "", group=name) for place, name in enumerate(broken)])


def counted(snapshots: Sequence[Mapping[str, Any]]) -> Facts:
    """What is counted of memberships; who hosts the topics is not known."""
    step = SETTINGS.step_of(np.array([to_micros(row["captured_at"]) for row in snapshots], np.int64))
    found = arrow_rows(SUITE.table, [dict(row) for row in snapshots], SETTINGS)
    in_steps = found.adding(step_start=pa.array(step).cast(pa.timestamp("us", "UTC")))
    whole = SUITE.prepare(in_steps, {ROUTE_SNAPSHOTS: arrow_rows(ROUTE_SNAPSHOTS, [], SETTINGS)})
    steps = groupby(counts_of(whole, SUITE).facts(), key=lambda fact: fact.step_start)
    return {SUITE.table: [step_facts(SUITE, [*of_step]) for _, of_step in steps]}


def few_quarantined(percent: float) -> ExpectFewRowsToBeQuarantined:
    """At most so many percent of the step's rows break a rule."""
    return ExpectFewRowsToBeQuarantined(
        name="few_rows_are_quarantined",
        says="No more than 1 % of a step's rows break a rule.",
        severity=FailureSeverity.CRITICAL,
        bounds={at(0).isoformat(): [None, percent]},
    )


def validated(site: Path, run_id: str, facts: Facts, percent: float = 1) -> Sequence[Result]:
    """What a run sees in the rows; with its pages."""
    checked = validate([suite(SUITE, [few_quarantined(percent)])], facts)
    write_pages(checked, run_id, site)
    return checked.results
