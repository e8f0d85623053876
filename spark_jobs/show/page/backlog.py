"""Backlog per queue and in total, and rates of messages: each sample, or what an interval published of its samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import nan
from operator import itemgetter

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Line, MultiLine, Range1d, Scatter
from bokeh.plotting import figure
from numpy.typing import NDArray

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.history import Place
from spark_jobs.domain.model.window import from_micros
from spark_jobs.domain.phrases import count, number_text
from spark_jobs.show.measured import MINUTE, Minutes, SampledTopic, Values, breaks, thinned
from spark_jobs.show.page.style import (
    DIM,
    INK,
    Points,
    clock,
    coordinates,
    dots,
    draw_lines,
    isolated,
    lines_figure,
    milliseconds,
    named,
)
from spark_jobs.show.rows import Row

#: Queues that have a named line; the others are gray.
_NAMED = 4
#: Parts of the time of which a line shows the extremes; a gray one.
_PARTS, _GRAY_PARTS = 240, 60
_queue_of, _time_of = itemgetter("broker_name", "queue_id"), itemgetter("start", "end")


def is_known(rows: Iterable[Row]) -> bool:
    """Return whether any backlog of the queues is known."""
    return any(row["lag_first"] is not None or row["lag_last"] is not None for row in rows)


def without_samples(rows: Iterable[Row], samples: SampledTopic | None) -> list[Row]:
    """The rows with a known backlog in whose time there is no sample any more."""
    times = np.empty(0) if samples is None else samples.times
    return [
        row
        for row in rows
        if is_known([row])
        and np.searchsorted(times, milliseconds(row["start"]))
        == np.searchsorted(times, milliseconds(row["end"]), "right")
    ]


def backlog_chart(rows: Sequence[Row], samples: SampledTopic | None, minutes: Minutes | None, time: Range1d) -> figure:
    """The backlog in messages: a line per queue, largest first, and a thick one for the topic.

    Lines join samples, and break where the lag is unknown; the topic's also where the set of known queues changes, as a
    backlog that becomes known did not arrive then. Where queues are unknown, or samples are not stored any more, the
    topic's line has the published minutes. Dots are the first and last sample of a row without samples.
    """
    chart = lines_figure(time, 130, "Backlog", "backlog (messages)", "0,0")
    highest = {queue: max(row["lag_max"] or 0 for row in of) for queue, of in by_key(rows, _queue_of).items()}
    worst = sorted(highest, key=lambda queue: -highest[queue])
    alone = by_key(without_samples(rows, samples), _queue_of)
    gray = [coordinates(_queue_line(queue, alone.get(queue, ()), samples, _GRAY_PARTS)) for queue in worst[_NAMED:]]
    if gray:
        source = ColumnDataSource({f"{axis}s": [line[axis] for line in gray] for axis in ("x", "y")})
        named(chart, chart.add_glyph(source, MultiLine(line_color=DIM)), "other queues")
    lines = {queue: _queue_line(queue, alone.get(queue, ()), samples, _PARTS) for queue in worst[:_NAMED]}
    draw_lines(chart, {f"{broker}:{queue_id}": line for (broker, queue_id), line in lines.items()}, 1.5)
    _draw_total(chart, _totals(samples, minutes))
    return chart


def rates_chart(rows: Sequence[Row], samples: SampledTopic | None, time: Range1d) -> figure:
    """Messages per second produced (solid) and consumed (dashed), of the whole topic, since the sample before; of an
    interval without samples the mean.
    """
    chart = lines_figure(time, 80, "Rates", "messages/s", "0,0.[0]")
    alone = without_samples(rows, samples)
    lines = {
        name: [*_means(alone, name), *(() if samples is None else _steps(samples, getattr(samples, name)))]
        for name in ("produced", "consumed")
    }
    draw_lines(chart, lines, 2)
    return chart


def _queue_line(queue: Place, rows: Iterable[Row], samples: SampledTopic | None, parts: int) -> Points:
    """Of one queue: dots of the rows, and the line through the samples."""
    points = [
        point for row in rows for end in (("start", "lag_first"), ("end", "lag_last")) for point in _dot(row, *end)
    ]
    if samples is not None and queue in samples.queues:
        values = samples.lags[:, samples.queues.index(queue)]
        points += _broken(samples.times, values, samples.breaks, thinned(samples.times, values, parts))
    return sorted(points, key=itemgetter(0))


def _dot(row: Row, moment: str, column: str) -> Points:
    at, value = milliseconds(row[moment]), row[column]
    return [] if value is None else [(at, float(value)), (at, nan)]


def _broken(
    times: Values, values: Values, breaks: NDArray[np.bool_], places: NDArray[np.int64]
) -> list[tuple[float, float]]:
    """The values at these places, with NaN in front of one to which no line leads from the place before."""
    broken = np.diff(np.cumsum(breaks)[places], prepend=0) > 0
    at = np.flatnonzero(broken[1:]) + 1
    x, y = (np.insert(column[places], at, before) for column, before in ((times, times[places][at]), (values, nan)))
    return list(zip(x.tolist(), y.tolist(), strict=True))


def _steps(samples: SampledTopic, values: Values) -> Iterator[tuple[float, float]]:
    """A step from the sample before each kept one to it."""
    kept = thinned(samples.times, values, _PARTS)
    kept = kept[kept > 0]
    for start, end, value in zip(
        samples.times[kept - 1].tolist(), samples.times[kept].tolist(), values[kept], strict=True
    ):
        yield start, float(value)
        yield end, float(value)


def _means(rows: Iterable[Row], column: str) -> Iterator[tuple[float, float]]:
    for rows_then in by_key(sorted(rows, key=_time_of), _time_of).values():
        rates = [row[column] / row["seconds"] for row in rows_then if row[column] is not None and row["seconds"]]
        rate = sum(rates) if rates else nan
        yield milliseconds(rows_then[0]["start"]), rate
        yield milliseconds(rows_then[0]["end"]), rate
        yield milliseconds(rows_then[0]["end"]), nan


#: (ms, messages, how many queues are unknown) of a topic; NaN breaks the line.
_Total = tuple[float, float, int]


def _totals(samples: SampledTopic | None, minutes: Minutes | None) -> list[_Total]:
    if minutes is None:
        return [] if samples is None else _sample_totals(samples, np.ones(len(samples.times), bool))
    minute_of_sample = np.empty(0) if samples is None else samples.times // MINUTE * MINUTE
    is_drawn = (minutes.unknown_queues > 0) | ~np.isin(minutes.starts, minute_of_sample)
    of_samples = (
        [] if samples is None else _sample_totals(samples, ~np.isin(minute_of_sample, minutes.starts[is_drawn]))
    )
    return sorted([*of_samples, *_minute_totals(minutes, is_drawn)], key=itemgetter(0))


def _sample_totals(samples: SampledTopic, is_drawn: NDArray[np.bool_]) -> list[_Total]:
    known = ~np.isnan(samples.lags)
    changed = np.append([True], (known[1:] != known[:-1]).any(axis=1))[: len(known)]
    places = thinned(samples.times, samples.total, _PARTS)
    places = places[is_drawn[places]]
    unknown = dict(zip(samples.times[places].tolist(), (~known[places]).sum(axis=1).tolist(), strict=True))
    return [
        (at, value, unknown[at])
        for at, value in _broken(samples.times, samples.total, samples.breaks | changed, places)
    ]


def _minute_totals(minutes: Minutes, is_drawn: NDArray[np.bool_]) -> list[_Total]:
    """Of each minute the last backlog at its end; at its start the highest one, if that is more, or the line begins."""
    ends = minutes.starts + MINUTE - 1
    changed = np.diff(minutes.unknown_queues, prepend=-1) != 0
    begins = is_drawn & (np.append([True], ~is_drawn[:-1])[: len(is_drawn)] | breaks(minutes.starts) | changed)
    times, values = (np.ravel(pair, "F") for pair in ((minutes.starts, ends), (minutes.messages_max, minutes.messages)))
    places = thinned(times, values, _PARTS)
    is_point, is_break = np.repeat(is_drawn, 2), np.zeros(len(times), bool)
    is_point[::2] &= begins | (minutes.messages_max > minutes.messages)
    is_break[::2] = begins
    places = places[is_point[places]]
    unknown = dict(zip(times.tolist(), np.repeat(minutes.unknown_queues, 2).tolist(), strict=True))
    return [(at, value, unknown[at]) for at, value in _broken(times, values, is_break, places)]


def _draw_total(chart: figure, totals: Sequence[_Total]) -> None:
    points = [(at, value) for at, value, _ in totals]
    texts = {
        "at": [f"{clock(from_micros(round(1000 * at)))} UTC" for at, *_ in totals],
        "lags": [_total_text(value, unknown) for _, value, unknown in totals],
    }
    source = ColumnDataSource(coordinates(points) | texts)
    named(chart, chart.add_glyph(source, Line(line_color=INK, line_width=3), name="total"), "all queues")
    hovered = chart.add_glyph(source, Scatter(fill_alpha=0, line_alpha=0, size=9))
    chart.add_tools(HoverTool(renderers=[hovered], tooltips=[("time", "@at"), ("all queues", "@lags")]))
    if alone := isolated(points):
        chart.add_glyph(ColumnDataSource(coordinates(alone)), dots(INK), name="total alone")


def _total_text(total: float, unknown: int) -> str:
    text = f"{number_text(None if total != total else round(total))} messages"
    return f"{text}, and {count(unknown, 'queue')} unknown" if unknown else text
