"""Answers that are no tables: a group's history played otherwise, the size that it needs, a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import escape

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import backlog_bound, count, number_text, short_repr
from spark_jobs.show.explain import GroupExplanation
from spark_jobs.show.tabular import framed
from spark_jobs.show.text.explanation_text import lines

if TYPE_CHECKING:
    from spark_jobs.domain.model.intervals import Interval
    from spark_jobs.show.what_if import GroupSteps
    from spark_jobs.what_if.outcome import CaseOutcome, Comparison
    from spark_jobs.what_if.plan import Plan, PlannedSize
    from spark_jobs.what_if.rollout import RolloutComparison
    from spark_jobs.what_if.size import FleetNeed, Size


@dataclass(frozen=True)
class Explanation:
    """A group at one moment: `facts` as values; as text, in English."""

    facts: GroupExplanation

    def __str__(self) -> str:
        return "\n".join("  " * line.indent + line.text for line in lines(self.facts))

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


@dataclass(frozen=True)
class WhatIf:
    """A group's history, as recorded and as simulated: `comparison` has the outcomes, `group` what they are made of."""

    group: GroupSteps
    comparison: Comparison

    @property
    def recorded(self) -> CaseOutcome:
        """The outcome that really happened."""
        return self.comparison.recorded

    @property
    def cases(self) -> Sequence[CaseOutcome]:
        """The outcomes that would have been, in the order in which the cases were given."""
        return self.comparison.cases

    def page(self) -> str:
        """The backlogs over each other, as a page of HTML."""
        from spark_jobs.show.page.page import what_if_page

        return what_if_page(self.group.consumer_group, self.group.interval, self.comparison)

    def __str__(self) -> str:
        return "\n".join([f"{self.group} (UTC)", *map(_case_text, (self.recorded, *self.cases))])

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        return framed(self.page())


@dataclass(frozen=True)
class GroupPlan:
    """The group as it was at last, with fewer and more members."""

    group: GroupSteps
    plan: Plan

    def __str__(self) -> str:
        at = format_utc(from_micros(self.plan.at))
        return "\n".join([f"{self.group.consumer_group} as it was at {at}", *map(_planned_text, self.plan.sizes)])

    __repr__ = short_repr


@dataclass(frozen=True)
class GroupRollout:
    """The group's last rollout, as it was and in other orders."""

    group: GroupSteps
    comparison: RolloutComparison

    def __str__(self) -> str:
        outcomes = (f"{each.order}: {count(each.queues_moved, 'queue')} moved" for each in self.comparison.outcomes)
        return "\n".join([f"{self.group} (UTC)", *outcomes])

    __repr__ = short_repr


@dataclass(frozen=True)
class GroupSize:
    """How many members a group needs for each goal."""

    group: GroupSteps
    size: Size

    def __str__(self) -> str:
        had = f"{count(self.size.members, 'member')}, {count(self.size.queues, 'queue')}"
        none = "no number of members is enough"
        needs = (
            f"{need.goal} {need.wanted:g}: {count(need.group.members, 'member') if need.group else none}"
            for need in self.size.needs
        )
        return "\n".join([f"{self.group} (UTC): {had}", *needs])

    __repr__ = short_repr


@dataclass(frozen=True)
class FleetSize:
    """How many members every group needs: (cluster, group, need), the worst verdict first."""

    interval: Interval
    needs: Sequence[tuple[str, str, FleetNeed]]

    def __str__(self) -> str:
        rows = (
            f"{cluster} {group}: {need.verdict}, members {number_text(need.members)}, needed {number_text(need.needed)}"
            for cluster, group, need in self.needs
        )
        return "\n".join([f"{count(len(self.needs), 'group')} in {self.interval} (UTC)", *rows])

    __repr__ = short_repr


@dataclass(frozen=True)
class Report:
    """A page of HTML that loads nothing from elsewhere."""

    html: str

    def save(self, file: Path | str) -> None:
        """Writes it whole or not at all; raises `ReportFileError`."""
        from spark_jobs.show.report import write_page

        write_page(self.html, Path(file))

    def __str__(self) -> str:
        return f"{len(self.html):,} characters of HTML: see save()"

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        return framed(self.html, height=900)


def _case_text(outcome: CaseOutcome) -> str:
    highest, last = (backlog_bound(messages, at_most=outcome.at_most) for messages in (outcome.highest, outcome.last))
    queues = f"{outcome.unassigned_queues:.1f} queues without owner, {outcome.double_owned_queues:.1f} owned twice"
    return f"{outcome.label}: highest backlog {highest}, last {last}, {queues}"


def _planned_text(planned: PlannedSize) -> str:
    queues = f"{planned.unassigned_queues} queues without owner, {planned.double_owned_queues} owned twice"
    return f"{planned.change:+}: {count(len(planned.members), 'member')}, {planned.idle} idle, {queues}"
