"""`python -m benchmarks.plot POINTS SVG`: the audited sizes, the line through them, and how far each lies from it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.measures.growth import Line, fit


def _draw_line(axes: Axes, groups: Sequence[int], seconds: Sequence[float], line: Line) -> None:
    ends = (0, max(groups))
    axes.plot(ends, [line.start + line.per_group * one for one in ends], color="0.6", zorder=1)
    axes.scatter(groups, seconds, zorder=2)
    axes.set_title(f"{line.start:.1f} s + {1000 * line.per_group:.1f} ms a group", loc="left")
    axes.set_ylabel("seconds")
    axes.set_ylim(bottom=0)


def _draw_residuals(axes: Axes, groups: Sequence[int], line: Line) -> None:
    axes.axhline(0, color="0.6")
    axes.stem(groups, line.residuals, basefmt=" ")
    axes.set_ylabel("residual, s")


def figure(groups: Sequence[int], seconds: Sequence[float], hours: int) -> Figure:
    """The sizes above, the residuals below."""
    drawn = Figure(figsize=(7, 5), layout="constrained")
    above, below = drawn.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    line = fit(groups, seconds)
    _draw_line(above, groups, seconds, line)
    _draw_residuals(below, groups, line)
    below.set_xlabel(f"consumer groups, {hours} h")
    return drawn


def main(argv: Sequence[str]) -> int:
    """Draws what `python -m benchmarks --points POINTS` wrote; the same points give the same bytes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plot", description=__doc__)
    parser.add_argument("points", type=Path, help="JSON that `python -m benchmarks --only line --points` wrote")
    parser.add_argument("svg", type=Path, help="the picture, docs/performance.svg")
    arguments = parser.parse_args(argv)
    given = json.loads(arguments.points.read_text(encoding="utf-8"))
    groups, seconds = zip(*given["points"], strict=True)
    with mpl.rc_context({"svg.hashsalt": "rebalance-audit", "svg.fonttype": "none"}):
        figure(groups, seconds, given["hours"]).savefig(arguments.svg, format="svg", metadata={"Date": None})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
