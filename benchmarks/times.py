"""How long the same work took, round by round."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median


class Times:
    """The seconds of several rounds; as a text the median, and from which to which time they were."""

    def __init__(self, seconds: Iterable[float]) -> None:
        self.rounds = [*seconds]

    @property
    def median(self) -> float:
        """The time that counts."""
        return median(self.rounds)

    def __str__(self) -> str:
        digits = 1 if self.median >= 1 else 2
        spread = f" ({min(self.rounds):.{digits}f}–{max(self.rounds):.{digits}f})" if len(self.rounds) > 1 else ""
        return f"{self.median:.{digits}f} s{spread}"

    def __truediv__(self, other: Times) -> float:
        return self.median / other.median
