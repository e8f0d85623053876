"""Results of the expectations of a run, as plain values; and whether the run may publish by them: not where a critical
expectation failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from expectations.suite import Severity
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.errors import QualityError


class Result(NamedTuple):
    """Result of an expectation in one step: a row of `quality_results` without its run."""

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


@dataclass(frozen=True)
class CheckResults:
    """The results of checks; `for_pages`: the same as Great Expectations has them, one per table."""

    results: Sequence[Result] = ()
    for_pages: Sequence[Any] = ()

    def __add__(self, further: CheckResults) -> CheckResults:
        return CheckResults((*self.results, *further.results), (*self.for_pages, *further.for_pages))


def failures(results: Iterable[Result], severity: Severity) -> list[str]:
    """Return what failed, in words: table, expectation, observed value, and up to 5 keys."""
    return [_words(result) for result in results if not result.success and result.severity == severity]


def raise_if_critical(results: Sequence[Result]) -> None:
    """Raises `QualityError` naming what failed critically; where that is about a step, what its rows break too."""
    if failed := failures(results, Severity.CRITICAL):
        critical = [result for result in results if not result.success and result.severity == Severity.CRITICAL]
        steps = {(result.table_name, result.step_start) for result in critical if result.unexpected_count is None}
        of_rows = [result for result in results if (result.table_name, result.step_start) in steps]
        why = failures((result for result in of_rows if result.unexpected_count), Severity.WARNING)
        lines = [*failed, *(f"  {words}" for words in why)]
        raise QualityError("\n".join(["the data-quality gate is closed, nothing was published:", *lines]))


def _words(result: Result) -> str:
    column = f" ({result.column_name})" if result.column_name else ""
    observed = f"{result.observed_value:g}" + (" rows" if result.unexpected_count else "")
    keys = f", for example {', '.join(result.examples)}" if result.examples else ""
    step = format_utc(result.step_start)
    return f"{result.table_name}: {result.expectation}{column} failed in the step {step}: {observed}{keys}"
