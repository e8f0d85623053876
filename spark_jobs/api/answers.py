"""Answers that are no tables: a group's history played otherwise, the size that it needs, a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from spark_jobs.show.tabular import framed
from spark_jobs.show.text.explanation import GroupExplanation
from spark_jobs.show.text.explanation_text import lines

if TYPE_CHECKING:
    from spark_jobs.domain.model.intervals import Interval
    from spark_jobs.domain.what_if.fleet_size import FleetNeed
    from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison
    from spark_jobs.domain.what_if.plan import Plan
    from spark_jobs.domain.what_if.size import Size
    from spark_jobs.show.what_if import GroupSteps


@dataclass(frozen=True)
class Explanation:
    """A group at one moment: `facts` as values; as text, in English."""

    facts: GroupExplanation

    def __str__(self) -> str:
        return "\n".join("  " * line.indent + line.text for line in lines(self.facts))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True)
class WhatIf:
    """A group's history, as recorded and as simulated: `comparison` has the outcomes, `group` what they are made of."""

    group: GroupSteps
    comparison: Comparison

    @property
    def recorded(self) -> CaseOutcome:
        """Return what really happened."""
        return self.comparison.recorded

    @property
    def cases(self) -> Sequence[CaseOutcome]:
        """Return what would have happened, in the order in which the cases were given."""
        return self.comparison.cases

    def page(self) -> str:
        """The backlogs over each other, as a page of HTML."""
        from spark_jobs.show.page.lines import what_if_page

        return what_if_page(self.group.consumer_group, self.group.interval, self.comparison)

    def _repr_html_(self) -> str:
        return framed(self.page())


@dataclass(frozen=True)
class GroupPlan:
    """The group as it was at last, with fewer and more members."""

    group: GroupSteps
    plan: Plan


@dataclass(frozen=True)
class GroupSize:
    """How many members a group needs for each goal."""

    group: GroupSteps
    size: Size


@dataclass(frozen=True)
class FleetSize:
    """How many members every group needs: (cluster, group, need), the worst verdict first."""

    interval: Interval
    needs: Sequence[tuple[str, str, FleetNeed]]


@dataclass(frozen=True)
class Report:
    """A page of HTML that loads nothing from elsewhere."""

    html: str

    def save(self, file: Path | str) -> None:
        """Writes it whole or not at all; raises `ReportFileError`."""
        from spark_jobs.show.report import write_page

        write_page(self.html, Path(file))

    def _repr_html_(self) -> str:
        return framed(self.html, height=900)
