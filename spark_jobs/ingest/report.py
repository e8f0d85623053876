"""What an ingest did with every line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class IngestReport:
    """Counts of lines: every line read is in exactly one of the others.

    `new` and `already_there` are rows by table, `no_observation` is by kind of line, `quarantined` by reason,
    those included that an earlier ingest of the same file had quarantined. `span`: the first and the last time of the
    rows; None where there is none, then nothing can be audited.
    """

    lines: int = 0
    meta: int = 0
    blank: int = 0
    no_observation: dict[str, int] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    already_there: dict[str, int] = field(default_factory=dict)
    quarantined: dict[str, int] = field(default_factory=dict)
    span: tuple[datetime, datetime] | None = None

    @property
    def accounted_for(self) -> int:
        """The lines whose fate is known; equals `lines` whenever a chunk is done."""
        by_name = (self.no_observation, self.new, self.already_there, self.quarantined)
        return self.meta + self.blank + sum(map(_total, by_name))

    def widen(self, first: datetime, last: datetime) -> None:
        """There are rows of these times, too."""
        start, end = self.span or (first, last)
        self.span = min(start, first), max(end, last)

    def __str__(self) -> str:
        rows = sorted(self.new.keys() | self.already_there.keys())
        counts = [
            f"{self.lines:,} lines read",
            *(f"{name}: {self.new.get(name, 0):,} new, {self.already_there.get(name, 0):,} known" for name in rows),
            f"no observation: {_total(self.no_observation):,}{_detail(self.no_observation)}",
            f"quarantined: {_total(self.quarantined):,}{_detail(self.quarantined)}",
            f"meta: {self.meta:,}, blank: {self.blank:,}",
        ]
        return "\n  ".join(counts)


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def _detail(counts: Mapping[str, int]) -> str:
    return f" ({', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))})" if counts else ""
