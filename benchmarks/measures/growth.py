"""How the time of an audit grows with the fleet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.bench import Bench
from benchmarks.measure import CallResults, NotMeasuredError


@dataclass(frozen=True)
class Line:
    """`seconds` = `start` + `per_group` × groups, by least squares; `residuals` are measured less fitted seconds."""

    start: float
    per_group: float
    residuals: tuple[float, ...]


def ten_times(bench: Bench) -> CallResults:
    """A run over all groups ÷ over a tenth of them, the time of a run over an empty step taken off both."""
    empty, ten, one = bench.empty_seconds, bench.audit_seconds(1.0), bench.audit_seconds(0.1)
    if one <= empty:
        raise NotMeasuredError(f"a tenth of the groups takes no longer than an empty step ({one:.1f}, {empty:.1f} s)")
    return CallResults((ten - empty) / (one - empty), f"({ten:.1f} − {empty:.1f}) s ÷ ({one:.1f} − {empty:.1f}) s")


def line(bench: Bench) -> CallResults:
    """How far the farthest of five sizes lies from the straight line through them, as a part of the longest audit."""
    groups = [bench.groups(part) for part in bench.sizes]
    seconds = [bench.audit_seconds(part) for part in bench.sizes]
    bench.points = list(zip(groups, seconds, strict=True))
    fitted = fit(groups, seconds)
    worst = max(map(abs, fitted.residuals))
    detail = f"{fitted.start:.1f} s + {1000 * fitted.per_group:.1f} ms a group; residuals up to {worst:.1f} s"
    return CallResults(worst / max(seconds), detail)


def fit(groups: Sequence[int], seconds: Sequence[float]) -> Line:
    """The straight line through at least two sizes."""
    per_group, start = np.polyfit(groups, seconds, 1)
    residuals = np.subtract(seconds, start + per_group * np.asarray(groups))
    return Line(float(start), float(per_group), tuple(map(float, residuals)))


def points_json(points: Sequence[tuple[int, float]], hours: int) -> str:
    """What `benchmarks.plot` draws: groups and seconds of each size, and how many hours were audited."""
    return json.dumps({"hours": hours, "points": points}, indent=1) + "\n"
