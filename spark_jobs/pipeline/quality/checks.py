"""Results of the expectations of a run, as plain values; and which clusters it may publish by them: not those in which
a critical expectation failed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from expectations.suite import Severity
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.errors import QualityError


class Result(NamedTuple):
    """Result of an expectation in one step: a row of `quality_results` without its run, and the clusters in which it
    fails, as far as it is about each of them.
    """

    step_start: datetime
    table_name: str
    expectation: str
    column_name: str | None
    severity: str
    success: bool
    observed_value: float
    unexpected_count: int | None
    unexpected_percent: float | None
    examples: list[str]
    clusters: Sequence[str] = ()


@dataclass(frozen=True)
class CheckResults:
    """The results of checks; `for_pages`: the same as Great Expectations has them, one per table."""

    results: Sequence[Result] = ()
    for_pages: Sequence[Any] = ()

    def __add__(self, further: CheckResults) -> CheckResults:
        return CheckResults((*self.results, *further.results), (*self.for_pages, *further.for_pages))


def failures(results: Iterable[Result], severity: Severity) -> list[str]:
    """The failures in words: table, expectation, observed value, and up to 5 keys."""
    return [_words(result) for result in results if not result.success and result.severity == severity]


def closed_clusters(results: Iterable[Result], clusters: Collection[str]) -> frozenset[str]:
    """The clusters of the run whose gate is closed; all of them, where something failed that is not about one."""
    critical = [result for result in results if not result.success and result.severity == Severity.CRITICAL]
    return frozenset(cluster for result in critical for cluster in result.clusters or clusters)


def raise_if_critical(results: Sequence[Result], published: Collection[str] = ()) -> None:
    """Raises `QualityError` naming what failed critically; where that is about a step, what its rows break too.
    `published`: the clusters of the run that were published.
    """
    if failed := failures(results, Severity.CRITICAL):
        critical = [result for result in results if not result.success and result.severity == Severity.CRITICAL]
        steps = {(result.table_name, result.step_start) for result in critical if result.unexpected_count is None}
        of_rows = [result for result in results if (result.table_name, result.step_start) in steps]
        why = failures((result for result in of_rows if result.unexpected_count), Severity.WARNING)
        lines = [*failed, *(f"  {words}" for words in why)]
        what = f"only {', '.join(sorted(published))} was published" if published else "nothing was published"
        raise QualityError("\n".join([f"the data-quality gate is closed, {what}:", *lines]))


def _words(result: Result) -> str:
    column = f" ({result.column_name})" if result.column_name else ""
    observed = f"{result.observed_value:g}" + (" rows" if result.unexpected_count else "")
    keys = f", for example {', '.join(result.examples)}" if result.examples else ""
    step = format_utc(result.step_start)
    if result.unexpected_count is None and result.clusters:
        step += f", {'cluster' if len(result.clusters) == 1 else 'clusters'} {', '.join(result.clusters)}"
    return f"{result.table_name}: {result.expectation}{column} failed in the step {step}: {observed}{keys}"
