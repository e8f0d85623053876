"""The backlog that was recorded and those of the cases, drawn over each other: a page that loads nothing."""

from __future__ import annotations

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison
from spark_jobs.show.page.axes import time_figure, time_range, with_legend
from spark_jobs.show.page.colours import INK, LINES
from spark_jobs.show.page.models import Figure, Model, hover, line, source_of
from spark_jobs.show.page.packing import packed
from spark_jobs.show.page.templates import rendered

_DASHES = ("dashed", "dotdash", "dotted", "dashdot")


def what_if_page(consumer_group: str, interval: Interval, compared: Comparison) -> str:
    """As HTML; the recorded backlog is the thick line."""
    known = [moment for moment, value in zip(compared.times, _curve(compared.recorded), strict=True) if value == value]
    shown = (known[0], known[-1]) if known else (compared.times[0], compared.times[-1])
    time = time_range(interval, interval)
    time.start, time.end = (moment / MILLISECOND for moment in shown)
    chart = time_figure(time, frame_height=480, name="Backlog", y_range=Model("DataRange1d", start=0))
    chart.yaxis.axis_label = "backlog (messages)"
    chart.yaxis.formatter = Model("NumeralTickFormatter", format="0,0")
    chart.above = [Model("Legend", location="top_left", items=[])]
    _draw(chart, compared, compared.recorded, INK, "solid", 3)
    for place, one in enumerate(compared.cases):
        _draw(chart, compared, one, LINES[place % len(LINES)], _DASHES[place % len(_DASHES)], 2)
    return rendered(
        "what_if.html",
        title=f"Backlog of {consumer_group}: what really happened, and what would have happened",
        subtitle=f"{interval} (UTC)",
        root=chart.id,
        chart=packed([with_legend(chart)]),
    )


def _draw(chart: Figure, compared: Comparison, one: CaseOutcome, colour: str, dash: str, width: int) -> None:
    """One line; a case of unknown backlog has none."""
    if one.curve is None:
        return
    label = f"{one.label} (at most)" if one.at_most else one.label
    times = [moment / MILLISECOND for moment in compared.times]
    source = source_of({"x": times, "y": _curve(one), "label": [label] * len(times)})
    drawn = chart.draw(source, line(colour, width, dash), legend_label=label)
    chart.add_tools(hover([drawn], {"case": "@label", "backlog": "@y{0,0}"}))


def _curve(one: CaseOutcome) -> list[float]:
    return [] if one.curve is None else list(one.curve.tolist())
