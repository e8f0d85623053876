"""`RunRecord`: what a run leaves."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from schemas import COVERAGE, GROUP_STATUS
from spark_jobs.domain.coverage import NO_COVERAGE, Coverage
from spark_jobs.domain.model.silences import unreported_ids
from spark_jobs.domain.phrases import short_repr
from spark_jobs.pipeline.publish.content import Content
from spark_jobs.pipeline.run_spec import RunSpec


@dataclass(frozen=True)
class RunRecord:
    """The row of `audit_runs`. Of a run that has just ended also its findings, as dicts with their `team`, the number
    of those that are reported by severity, what the reader should know of what was not audited, which expectations
    failed without keeping the run from being published, whether anything was observed, and how much.
    """

    run: dict[str, Any]
    findings: list[dict[str, Any]] = field(default_factory=list)
    severities: Mapping[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    quality_warnings: list[str] = field(default_factory=list)
    observed: bool = True
    coverage: Coverage = NO_COVERAGE

    def __str__(self) -> str:
        numbers = ", ".join(f"{number:,} {severity}" for severity, number in self.severities.items()) or "no finding"
        warnings = (f"warning: {warning}" for warning in (*self.warnings, *self.quality_warnings))
        return "\n".join([f"run {self.run.get('run_id')} {self.run.get('outcome')}: {numbers}", *warnings])

    __repr__ = short_repr

    @property
    def spec(self) -> RunSpec:
        """The request of the run."""
        return RunSpec.of(self.run)

    @property
    def contents(self) -> dict[str, Content]:
        """The content that it published, by table name."""
        hashes = self.run["content_hashes"]
        return {name: Content(rows, hashes[name]) for name, rows in self.run["row_counts"].items()}

    def rows_of_its_groups(self) -> str:
        """SQL condition of what it audited, in any output table: whole groups, also if it published one topic."""
        return replace(self.spec, topic=None).replaces(GROUP_STATUS)


def reported_severities(findings: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """The findings that are reported, by severity: neither they are silenced nor their roots."""
    silenced = unreported_ids((row["finding_id"], row["root_finding_id"], row["silenced_because"]) for row in findings)
    return Counter(row["severity"] for row in findings if row["finding_id"] not in silenced)


def of_one_topic(runs: Sequence[RunRecord]) -> str:
    """SQL condition of rows whose group was last audited for one topic only: what concerns the whole group was
    published, and its other topics are as an earlier run left them, or not there.
    """
    return _last_audited_by(runs, lambda run: run.spec.topic is not None)


def without_coverage(runs: Sequence[RunRecord]) -> str:
    """SQL condition of rows whose group was last audited by a version that published no coverage."""
    return _last_audited_by(runs, lambda run: COVERAGE.name not in run.run["published_versions"])


def _last_audited_by(runs: Sequence[RunRecord], is_such: Callable[[RunRecord], bool]) -> str:
    """Of runs, the newest first: SQL condition of rows of such a run, whose groups no other whole run audited later."""
    conditions = []
    for place, such in enumerate(runs):
        if is_such(such):
            whole = [run for run in runs[:place] if run.spec.topic is None and not is_such(run)]
            later = [run for run in whole if run.spec.overlaps(such.spec)]
            again = " OR ".join(f"({run.rows_of_its_groups()})" for run in later) or "false"
            conditions.append(f"({such.rows_of_its_groups()} AND NOT ({again}))")
    return " OR ".join(conditions) or "false"
