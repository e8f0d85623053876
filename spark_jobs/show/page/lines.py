"""Lines over time: backlog per queue and in total, rates of messages, and the backlogs of a what-if."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from math import isnan, nan

from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import MILLISECOND
from spark_jobs.domain.phrases import count, known_sum, number_text
from spark_jobs.domain.what_if.outcome import CaseOutcome, Comparison
from spark_jobs.show.page.models import Figure, Model, dots, field, hover, line, marks, packed, source_of
from spark_jobs.show.page.style import DIM, INK, LINES, clock, milliseconds, time_figure, time_range, with_legend
from spark_jobs.show.page.templates import rendered
from spark_jobs.show.rows import Row

#: Queues that have a line with a name of its own; the others are grey.
_NAMED = 4
_DASHES = ("solid", "dashed", "dotdash", "dotted")


def is_known(rows: Iterable[Row]) -> bool:
    """Whether any backlog of the queues is known."""
    return any(row["lag_first"] is not None or row["lag_last"] is not None for row in rows)


def backlog_chart(rows: Sequence[Row], time: Model) -> Figure:
    """Messages that wait, over time: a line per queue, those with most first, and a thick one for the whole topic.

    A line joins what the first and the last reading of each interval say; where nothing is known it is broken, and that
    of the topic also where other queues are known than before: what becomes known then did not come then.
    """
    chart = time_figure(time, frame_height=130, name="Backlog", y_range=Model("DataRange1d", start=0))
    chart.yaxis.axis_label = "backlog (messages)"
    queues = _by_queue(rows)
    worst = sorted(queues, key=lambda queue: -max((row["lag_max"] or 0 for row in queues[queue]), default=0))
    others = [_points(queues[queue]) for queue in worst[_NAMED:]]
    if others:
        source = source_of(
            {"xs": [[x for x, _ in one] for one in others], "ys": [[y for _, y in one] for one in others]}
        )
        thin = marks("MultiLine", xs=field("xs"), ys=field("ys"), line_color=DIM, line_width=1)
        chart.draw(source, thin, legend_label="other queues")
    _draw_lines(chart, {f"{queue[0]}:{queue[1]}": _points(queues[queue]) for queue in worst[:_NAMED]}, 1.5)
    _draw_total(chart, rows)
    return _finished(chart, "0,0")


def rates_chart(rows: Sequence[Row], time: Model) -> Figure:
    """Messages a second that came in (solid) and went out (dashed), of the whole topic, interval by interval."""
    chart = time_figure(time, frame_height=80, name="Rates", y_range=Model("DataRange1d", start=0))
    chart.yaxis.axis_label = "messages/s"
    _draw_lines(chart, {column: list(_steps(rows, column)) for column in ("produced", "consumed")}, 2)
    return _finished(chart, "0,0.[0]")


def _by_queue(rows: Iterable[Row]) -> dict[tuple[str, int], list[Row]]:
    queues: dict[tuple[str, int], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["start"]):
        queues.setdefault((row["broker_name"], row["queue_id"]), []).append(row)
    return queues


def _points(rows: Iterable[Row]) -> list[tuple[float, float]]:
    """Two points per row, and a break behind a row that the next does not follow at once."""
    points: list[tuple[float, float]] = []
    for row in rows:
        if points and points[-1][0] != milliseconds(row["start"]):
            points.append((points[-1][0], nan))
        points.append((milliseconds(row["start"]), _number(row["lag_first"])))
        points.append((milliseconds(row["end"]), _number(row["lag_last"])))
    return points


def _steps(rows: Iterable[Row], column: str) -> Iterable[tuple[float, float]]:
    for together in _together(rows):
        known = [row[column] / row["seconds"] for row in together if row[column] is not None and row["seconds"]]
        rate = sum(known) if known else nan
        yield milliseconds(together[0]["start"]), rate
        yield milliseconds(together[0]["end"]), rate


def _together(rows: Iterable[Row]) -> Iterable[list[Row]]:
    """The rows of the same time, in order."""
    in_order = sorted(rows, key=lambda row: (row["start"], row["end"]))
    return (list(of_one) for _, of_one in groupby(in_order, key=lambda row: (row["start"], row["end"])))


def _totals(rows: Iterable[Row]) -> Iterable[tuple[datetime, list[int | None]]]:
    """The lags of all queues at the beginning and at the end of each interval; none where the line is broken."""
    before: tuple[datetime, set[tuple[str, int]]] | None = None
    for together in _together(rows):
        for moment, column in (("start", "lag_first"), ("end", "lag_last")):
            at = together[0][moment]
            known = {(row["broker_name"], row["queue_id"]) for row in together if row[column] is not None}
            if before and known and before[1] and (known != before[1] or (moment == "start" and at != before[0])):
                yield before[0], []
            yield at, [row[column] for row in together]
            before = at, known


def _draw_total(chart: Figure, rows: Iterable[Row]) -> None:
    points = list(_totals(rows))
    source = source_of(
        {
            "x": [milliseconds(moment) for moment, _ in points],
            "y": [_number(known_sum(lags)) for _, lags in points],
            "at": [f"{clock(moment)} UTC" for moment, _ in points],
            "told": [_told(lags) for _, lags in points],
        }
    )
    chart.draw(source, line(INK, 3), name="total", legend_label="all queues")
    chart.add_tools(hover([chart.draw(source, dots(INK))], {"time": "@at", "all queues": "@told"}))


def _told(lags: Sequence[int | None]) -> str:
    unknown, total = lags.count(None), f"{number_text(known_sum(lags))} messages"
    return f"{total}, and {count(unknown, 'queue')} unknown" if unknown else total


def _draw_lines(chart: Figure, lines: Mapping[str, Sequence[tuple[float, float]]], width: float) -> None:
    """A line per label, told apart by colour and by dashes."""
    drawn = []
    for place, (label, points) in enumerate(lines.items()):
        source = source_of({"x": [x for x, _ in points], "y": [y for _, y in points], "label": [label] * len(points)})
        drawn.append(chart.draw(source, line(LINES[place], width, _DASHES[place]), name=label, legend_label=label))
        if alone := _alone(points):
            source = source_of({"x": [x for x, _ in alone], "y": [y for _, y in alone]})
            chart.draw(source, dots(LINES[place]), name=f"{label} alone")
    chart.add_tools(hover(drawn, {"line": "@label", "value": "@y{0,0.[0]}"}))


def _alone(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points between two breaks, which no line shows."""
    is_known = [False, *(not isnan(y) for _, y in points), False]
    return [one for number, one in enumerate(points) if is_known[number : number + 3] == [False, True, False]]


def _number(value: float | None) -> float:
    return nan if value is None else value


def _finished(chart: Figure, numbers: str) -> Figure:
    chart.yaxis.formatter = Model("NumeralTickFormatter", format=numbers)
    chart.legend.location = "top_left"
    chart.legend.background_fill_alpha = 0.7
    return with_legend(chart)


#: Of the cases; the recorded backlog is solid.
_CASE_DASHES = ("dashed", "dotdash", "dotted", "dashdot")


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
    for place, outcome in enumerate(compared.cases):
        _draw(chart, compared, outcome, LINES[place % len(LINES)], _CASE_DASHES[place % len(_CASE_DASHES)], 2)
    return rendered(
        "what_if.html",
        title=f"Backlog of {consumer_group}: what really happened, and what would have happened",
        subtitle=f"{interval} (UTC)",
        root=chart.id,
        chart=packed([with_legend(chart)]),
    )


def _draw(chart: Figure, compared: Comparison, outcome: CaseOutcome, colour: str, dash: str, width: int) -> None:
    """One line; a case of unknown backlog has none."""
    if outcome.curve is None:
        return
    label = f"{outcome.label} (at most)" if outcome.at_most else outcome.label
    times = [moment / MILLISECOND for moment in compared.times]
    source = source_of({"x": times, "y": _curve(outcome), "label": [label] * len(times)})
    drawn = chart.draw(source, line(colour, width, dash), legend_label=label)
    chart.add_tools(hover([drawn], {"case": "@label", "backlog": "@y{0,0}"}))


def _curve(outcome: CaseOutcome) -> list[float]:
    return [] if outcome.curve is None else list(outcome.curve.tolist())
