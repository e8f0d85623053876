"""Answers that are no tables: an explanation, a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import escape

from spark_jobs.domain.phrases import short_repr
from spark_jobs.show.explain import GroupExplanation
from spark_jobs.show.tabular import framed
from spark_jobs.show.text.explanation_text import lines


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
