"""docs/expectations.md is what the suites say."""

from schemas import SOURCES
from spark_jobs.config import Configuration
from spark_jobs.pipeline.quality.drift import NULLS_ARE_USUAL, ROWS_ARE_USUAL
from spark_jobs.pipeline.quality.handbook import PAGE, handbook
from spark_jobs.pipeline.quality.suites import of_source
from tests.support.times import HOUR


def test_the_page_is_the_one_the_suites_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == handbook(), "run python -m spark_jobs.pipeline.quality.handbook"


def test_every_expectation_of_steps_is_explained() -> None:
    names = {one.name for table in SOURCES for one in of_source(table, HOUR, Configuration())}
    assert names == {"few_rows_are_quarantined", "cadence_is_kept"}
    for name in (*names, ROWS_ARE_USUAL, NULLS_ARE_USUAL, "content_is_as_published"):
        assert f"| `{name}` |" in PAGE.read_text(encoding="utf-8"), name
