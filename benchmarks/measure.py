"""What one measure is, and what came out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.times import Times
from spark_jobs.errors import RebalanceAuditError

#: By how much of itself a goal may be missed before the benchmark fails: two runs differ by as much.
TOLERANCE = 0.1


@dataclass(frozen=True)
class CallResults:
    """A measured value, and what it was computed from."""

    value: float
    detail: str

    @classmethod
    def ratio(cls, times: Times, by: Times, *notes: str) -> CallResults:
        """The first ÷ the second, by their medians."""
        return cls(times / by, ", ".join((f"{times} ÷ {by}", *notes)))


@dataclass(frozen=True)
class Measure:
    """One thing that is measured: `value` of the function `take` shall be no more than `limit` (None: no goal).

    `of_fleet_day`: the goal is one for a whole fleet-day; in a smaller fleet the start-up decides, and nothing is said.
    """

    name: str
    what: str
    limit: float | None
    take: Callable[[Bench], CallResults]
    unit: str = ""
    of_fleet_day: bool = False
    is_quick: bool = False

    @property
    def family(self) -> str:
        """The name that several of them share: `year` of `year-status`; empty: it stands alone."""
        family, dash, _ = self.name.partition("-")
        return family if dash else ""

    @property
    def goal(self) -> str:
        """The limit with its unit; empty where there is none."""
        return "" if self.limit is None else f"≤ {self.with_unit(self.limit)}"

    def with_unit(self, value: float) -> str:
        """A value in words."""
        return f"{value:.3g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Result:
    """What came out of a measure: a value, or why there is none."""

    measure: Measure
    taken: CallResults | None = None
    why_not: str = ""
    failed: bool = False
    evaluated: bool = True

    @property
    def missed(self) -> bool:
        """Whether the benchmark fails because of it: it could not be measured, or is beyond goal and tolerance."""
        return self.failed or (self._over is not None and self._over > TOLERANCE)

    @property
    def verdict(self) -> str:
        """The same, in words."""
        if self.taken is None:
            return "failed" if self.failed else "not measured"
        if self.measure.limit is None:
            return ""
        if self._over is None:
            return "not a fleet-day"
        if self._over <= 0:
            return "met"
        return f"missed by {self._over:.0%}" if self.missed else f"met, within {TOLERANCE:.0%}"

    @property
    def value(self) -> str:
        """The value with its unit; empty where there is none."""
        return self.measure.with_unit(self.taken.value) if self.taken else ""

    @property
    def detail(self) -> str:
        """What the value was computed from, or the first line of why there is none."""
        return self.taken.detail if self.taken else self.why_not.partition("\n")[0]

    @property
    def _over(self) -> float | None:
        """By which part of the goal the value is beyond it; null where nothing is to be said."""
        if self.taken is None or self.measure.limit is None or not self.evaluated:
            return None
        return self.taken.value / self.measure.limit - 1


def measured(measure: Measure, bench: Bench) -> Result:
    """The measure, taken; an error of the project's own becomes a result that says so, and a goal of a fleet-day is not
    evaluated by less.
    """
    evaluated = bench.is_fleet_day or not measure.of_fleet_day
    try:
        return Result(measure, measure.take(bench), evaluated=evaluated)
    except NotMeasuredError as error:
        return Result(measure, why_not=f"not measured: {error}")
    except RebalanceAuditError as error:
        return Result(measure, why_not=str(error), failed=True)
