"""Pages of the documentation that are made from the code are up to date, and explain all of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from schemas import SOURCES
from schemas import handbook as tables
from spark_jobs.cli import handbook as command_line
from spark_jobs.config import Configuration
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.status.capacity import SIGNS
from spark_jobs.pipeline.quality import handbook as expectations
from spark_jobs.pipeline.quality.drift import NULLS_ARE_USUAL, ROWS_ARE_USUAL
from spark_jobs.pipeline.quality.suites import of_source
from spark_jobs.show.text import handbook as rules
from tests.support.times import HOUR


@pytest.mark.parametrize(
    ("module", "pages"),
    [
        ("schemas.handbook", {tables.PAGE: tables.handbook()}),
        ("spark_jobs.cli.handbook", {command_line.PAGE: command_line.handbook()}),
        ("spark_jobs.pipeline.quality.handbook", {expectations.PAGE: expectations.handbook()}),
        ("spark_jobs.show.text.handbook", {rules.INDEX: rules.index(), **rules.rule_pages()}),
    ],
)
def test_the_pages_are_those_the_code_makes(module: str, pages: Mapping[Path, str]) -> None:
    """Of rules there is no other page."""
    there = [*pages, *(rules.RULE_PAGES.glob("*.md") if rules.INDEX in pages else ())]
    assert {page: page.read_text(encoding="utf-8") for page in there} == pages, f"run python -m {module}"


def test_every_rule_is_explained() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        texts = [rule.meaning, rule.decided_by]
        texts += [text for cause in rule.causes.values() for text in (cause.when, cause.advice)]
        assert all(texts), rule.name
        assert rule.causes, rule.name


def test_the_signs_of_capacity_are_rules_and_causes_that_exist() -> None:
    known = {rule.name for rule in RULES} | {f"{rule.name}/{cause}" for rule in RULES for cause in rule.causes}
    assert {sign for signs in SIGNS.values() for sign in signs} <= known


def test_every_expectation_of_steps_is_explained() -> None:
    names = {one.name for table in SOURCES for one in of_source(table, HOUR, Configuration())}
    assert names == {"few_rows_are_quarantined", "cadence_is_kept"}
    for name in (*names, ROWS_ARE_USUAL, NULLS_ARE_USUAL, "content_is_as_published"):
        assert f"| `{name}` |" in expectations.PAGE.read_text(encoding="utf-8"), name
