"""Lines over time: backlog per queue and in total, rates of messages, and the backlogs of a what-if."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isnan, nan
from operator import itemgetter
from typing import Any

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, HoverTool, Line, MultiLine, Range1d, Scatter
from bokeh.models.annotations import LegendItem
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.phrases import count, known_sum, number_text
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison
from spark_jobs.show.page.charts import packed
from spark_jobs.show.page.style import DIM, INK, LINES, clock, lines_figure, milliseconds, time_range
from spark_jobs.show.page.templates import rendered
from spark_jobs.show.rows import Row

#: Queues that have a named line; the others are gray.
_NAMED = 4
_DASHES = ("solid", "dashed", "dotdash", "dotted")
_queue_of, _time_of = itemgetter("broker_name", "queue_id"), itemgetter("start", "end")


def is_known(rows: Iterable[Row]) -> bool:
    """Return whether any backlog of the queues is known."""
    return any(row["lag_first"] is not None or row["lag_last"] is not None for row in rows)


def backlog_chart(rows: Sequence[Row], time: Range1d) -> figure:
    """The backlog in messages: a line per queue, largest first, and a thick one for the topic.
    Lines join the first and last sample of each interval, and break where the lag is unknown; the topic's also where
    the set of known queues changes, as a backlog that becomes known did not arrive then.
    """
    chart = lines_figure(time, 130, "Backlog", "backlog (messages)", "0,0")
    queues = by_key(sorted(rows, key=itemgetter("start")), _queue_of)
    worst = sorted(queues, key=lambda queue: -max((row["lag_max"] or 0 for row in queues[queue]), default=0))
    other_lines = [_coordinates(_points(queues[queue])) for queue in worst[_NAMED:]]
    if other_lines:
        source = ColumnDataSource({f"{axis}s": [line[axis] for line in other_lines] for axis in ("x", "y")})
        _named(chart, chart.add_glyph(source, MultiLine(line_color=DIM)), "other queues")
    _draw_lines(chart, {f"{queue[0]}:{queue[1]}": _points(queues[queue]) for queue in worst[:_NAMED]}, 1.5)
    _draw_total(chart, rows)
    return chart


def rates_chart(rows: Sequence[Row], time: Range1d) -> figure:
    """Messages per second produced (solid) and consumed (dashed), of the whole topic, interval by interval."""
    chart = lines_figure(time, 80, "Rates", "messages/s", "0,0.[0]")
    _draw_lines(chart, {column: list(_steps(rows, column)) for column in ("produced", "consumed")}, 2)
    return chart


def _points(rows: Iterable[Row]) -> list[tuple[float, float]]:
    """Two points (ms, lag) per row, and a break (nan) behind a row that the next does not follow at once."""
    points: list[tuple[float, float]] = []
    for row in rows:
        if points and points[-1][0] != milliseconds(row["start"]):
            points.append((points[-1][0], nan))
        points.append((milliseconds(row["start"]), _number(row["lag_first"])))
        points.append((milliseconds(row["end"]), _number(row["lag_last"])))
    return points


def _steps(rows: Iterable[Row], column: str) -> Iterable[tuple[float, float]]:
    for rows_then in _by_time(rows):
        rates = [row[column] / row["seconds"] for row in rows_then if row[column] is not None and row["seconds"]]
        rate = sum(rates) if rates else nan
        yield milliseconds(rows_then[0]["start"]), rate
        yield milliseconds(rows_then[0]["end"]), rate


def _by_time(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """Lists of the rows with the same start and end, in the order of time."""
    return by_key(sorted(rows, key=_time_of), _time_of).values()


def _totals(rows: Iterable[Row]) -> Iterable[tuple[datetime, list[int | None]]]:
    """(moment, lags of all queues) at the beginning and end of each interval; no lags where the line is broken."""
    before: tuple[datetime, set[tuple[str, int]]] | None = None
    for rows_then in _by_time(rows):
        for moment, column in (("start", "lag_first"), ("end", "lag_last")):
            at = rows_then[0][moment]
            known = {_queue_of(row) for row in rows_then if row[column] is not None}
            if before and known and before[1] and (known != before[1] or (moment == "start" and at != before[0])):
                yield before[0], []
            yield at, [row[column] for row in rows_then]
            before = at, known


def _draw_total(chart: figure, rows: Iterable[Row]) -> None:
    points = list(_totals(rows))
    source = ColumnDataSource(
        {
            "x": [milliseconds(moment) for moment, _ in points],
            "y": [_number(known_sum(lags)) for _, lags in points],
            "at": [f"{clock(moment)} UTC" for moment, _ in points],
            "lags": [_total_text(lags) for _, lags in points],
        }
    )
    _named(chart, chart.add_glyph(source, Line(line_color=INK, line_width=3), name="total"), "all queues")
    dots = chart.add_glyph(source, _dots(INK))
    chart.add_tools(HoverTool(renderers=[dots], tooltips=[("time", "@at"), ("all queues", "@lags")]))


def _total_text(lags: Sequence[int | None]) -> str:
    unknown, total = lags.count(None), f"{number_text(known_sum(lags))} messages"
    return f"{total}, and {count(unknown, 'queue')} unknown" if unknown else total


def _draw_lines(chart: figure, lines: Mapping[str, Sequence[tuple[float, float]]], width: float) -> None:
    """A line per label, each with its own color and dashes."""
    drawn: list[Any] = []
    for place, (label, points) in enumerate(lines.items()):
        source = ColumnDataSource(_coordinates(points) | {"label": [label] * len(points)})
        line = Line(line_color=LINES[place], line_width=width, line_dash=_DASHES[place])
        drawn.append(_named(chart, chart.add_glyph(source, line, name=label), label))
        if isolated := _isolated(points):
            alone = ColumnDataSource(_coordinates(isolated))
            chart.add_glyph(alone, _dots(LINES[place]), name=f"{label} alone")
    chart.add_tools(HoverTool(renderers=drawn, tooltips=[("line", "@label"), ("value", "@y{0,0.[0]}")]))


def _coordinates(points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The points as columns `x` and `y`."""
    return {axis: [point[place] for point in points] for place, axis in enumerate(("x", "y"))}


def _isolated(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points between two breaks, which no line shows."""
    is_known = [False, *(not isnan(y) for _, y in points), False]
    return [point for index, point in enumerate(points) if is_known[index : index + 3] == [False, True, False]]


def _number(value: float | None) -> float:
    return nan if value is None else value


def _dots(color: str) -> Scatter:
    return Scatter(line_color=color, fill_color=color, size=5)


def _named(chart: figure, lines: GlyphRenderer[Any], label: str) -> GlyphRenderer[Any]:
    """The lines, with this label in the legend."""
    legend: Any = chart.legend[0]
    legend.items.append(LegendItem(label=value(label), renderers=[lines]))
    return lines


#: Of the cases; the recorded backlog is solid.
_CASE_DASHES = ("dashed", "dotdash", "dotted", "dashdot")


def what_if_page(consumer_group: str, interval: Interval, compared: Comparison) -> str:
    """The page of a what-if, as HTML; the recorded backlog is the thick line."""
    known = [moment for moment, value in zip(compared.times, _curve(compared.recorded), strict=True) if value == value]
    shown = (known[0], known[-1]) if known else (compared.times[0], compared.times[-1])
    time = time_range(interval, interval)
    time.start, time.end = (moment / MILLISECOND for moment in shown)
    chart = lines_figure(time, 480, "Backlog", "backlog (messages)", "0,0", legend="above")
    _draw(chart, compared, compared.recorded, INK, "solid", 3)
    for place, outcome in enumerate(compared.cases):
        _draw(chart, compared, outcome, LINES[place % len(LINES)], _CASE_DASHES[place % len(_CASE_DASHES)], 2)
    return rendered(
        "what_if.html",
        title=f"Backlog of {consumer_group}: what really happened, and what would have happened",
        subtitle=f"{interval} (UTC)",
        root=chart.id,
        chart=packed([chart]),
    )


def _draw(chart: figure, compared: Comparison, outcome: CaseOutcome, color: str, dash: str, width: int) -> None:
    """One line; a case of unknown backlog has none."""
    if outcome.curve is None:
        return
    label = f"{outcome.label} (at most)" if outcome.at_most else outcome.label
    times = [moment / MILLISECOND for moment in compared.times]
    source = ColumnDataSource({"x": times, "y": _curve(outcome), "label": [label] * len(times)})
    line = Line(line_color=color, line_width=width, line_dash=dash)
    drawn = _named(chart, chart.add_glyph(source, line), label)
    chart.add_tools(HoverTool(renderers=[drawn], tooltips=[("case", "@label"), ("backlog", "@y{0,0}")]))


def _curve(outcome: CaseOutcome) -> list[float]:
    return [] if outcome.curve is None else list(outcome.curve.tolist())
