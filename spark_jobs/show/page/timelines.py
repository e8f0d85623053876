"""Timelines: who was in the group, and who owned each queue, as colored spans of time."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from bokeh.models import HBar, HoverTool, Range1d, Text, VSpan
from bokeh.plotting import figure

from spark_jobs.domain.kernel.audited_step import ALL_HOSTS
from spark_jobs.domain.model.causes import DoubleOwnedCause
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.statuses import Status
from spark_jobs.domain.phrases import UNKNOWN, number_text
from spark_jobs.show.page.style import (
    INK,
    NO_OWNER,
    NOT_REPLAYED,
    PAPER,
    UNOBSERVED,
    clock,
    ink_on,
    milliseconds,
    owner_color,
    rows_figure,
    shortened,
    source_of_rows,
)
from spark_jobs.show.rows import Row

#: (client id, address) → number of the connection: its color and its label.
Numbers = Mapping[tuple[str, str], int]

#: Rows that a timeline draws, at most: those with something wrong come first.
ROWS = 250
_ROW_PIXELS = 19
#: A span shorter than this part of the whole is not labelled: the label would not fit.
_LABELLED = 0.025


def numbers_of(members: Iterable[Row]) -> dict[tuple[str, str], int]:
    """Numbers from 1 for the connections of a group, in the order in which they were first seen."""
    first_seen: dict[tuple[str, str], datetime] = {}
    for row in members:
        key = (row["client_id"], row["client_addr"])
        first_seen[key] = min(first_seen.get(key, row["start"]), row["start"])
    return {
        key: number for number, key in enumerate(sorted(first_seen, key=lambda key: (first_seen[key], key)), start=1)
    }


def members_timeline(members: Sequence[Row], numbers: Numbers, interval: Interval, time: Range1d) -> figure:
    """A row per connection: when it was in the group; hatched while another had its client id."""
    rows = [_member_span(row, numbers) for row in members if numbers[_key(row)] <= ROWS]
    labels = {number: f"{number}  {shortened(key[0], 24)}" for key, number in numbers.items() if number <= ROWS}
    chart = rows_figure(time, "Members", labels, max(len(labels), 1), _ROW_PIXELS)
    tips = {"client id": "@client_id", "address": "@address", "time": "@span", "note": "@why"}
    _draw_spans(chart, rows, interval, tips)
    return chart


def ownership_timeline(
    spans: Sequence[Row], states: Sequence[Row], numbers: Numbers, interval: Interval, time: Range1d
) -> tuple[figure, int]:
    """The chart, a row per queue and membership view: who owned it when; and how many rows were left out."""
    keys = sorted({_row_key(span) for span in spans}, key=_problems_first(spans))
    places = {key: place for place, key in enumerate(sorted(keys[:ROWS]), start=1)}
    rows = [_queue_span(span, places, numbers) for span in spans if _row_key(span) in places]
    rows += [row for state in states for row in _unreplayed_spans(state, places)]
    labels = {place: _row_label(key) for key, place in places.items()}
    chart = rows_figure(time, "Owners", labels, max(len(labels), 1), _ROW_PIXELS)
    tips = {"queue": "@queue", "state": "@state", "owner": "@owner", "why": "@why", "time": "@span", "lag": "@lag"}
    _draw_spans(chart, rows, interval, tips)
    _draw_rebalances(chart, states)
    return chart, len(keys) - len(places)


def _key(row: Row) -> tuple[str, str]:
    return row["client_id"], row["client_addr"]


def _row_key(span: Row) -> tuple[str, str, int]:
    return _view(span), span["broker_name"], span["queue_id"]


def _view(row: Row) -> str:
    """The broker whose list of members the row is of; empty for that of all hosts."""
    return "" if row["membership_view"] == ALL_HOSTS else row["membership_view"]


def _row_label(key: tuple[str, str, int]) -> str:
    view, broker, queue = key
    return f"{shortened(broker, 20)}:{queue}" + (f" ({shortened(view, 10)} says)" if view else "")


def _problems_first(spans: Iterable[Row]) -> Any:
    with_problems = {_row_key(span) for span in spans if len(span["owners"]) != 1}
    return lambda key: (key not in with_problems, key)


def _span(start: datetime, end: datetime, place: int, color: str, label: str, several: bool = False) -> dict[str, Any]:
    return {
        "y": place,
        "left": milliseconds(start),
        "right": milliseconds(end),
        "color": color,
        "several": several,
        "label": label,
        "ink": ink_on(color),
        "span": f"{clock(start)} – {clock(end)} UTC",
    }


def _member_span(row: Row, numbers: Numbers) -> dict[str, Any]:
    number = numbers[_key(row)]
    note = "another connection has this client id" if row["shares_id"] else row["strategy"] or ""
    facts = {"client_id": row["client_id"], "address": row["client_addr"], "why": note}
    return _span(row["start"], row["end"], number, owner_color(number), str(number), row["shares_id"]) | facts


def _queue_span(span: Row, places: Mapping[tuple[str, str, int], int], numbers: Numbers) -> dict[str, Any]:
    owners = span["owners"]
    owner_numbers = [numbers.get(_key(owner), 0) for owner in owners]
    names = (f"{number} {' '.join(_key(owner))}" for number, owner in zip(owner_numbers, owners, strict=True))
    shared = span["double_owned_cause"] == DoubleOwnedCause.POP_SHARED
    several = "shared by POP" if shared else "several owners: consumed more than once"
    state = ("no owner", "one owner", several)[min(len(owners), 2)]
    color = owner_color(owner_numbers[0]) if owners else NO_OWNER
    label = "+".join(map(str, owner_numbers)) if owners else "none"
    lag_first, lag_last, lag_max = (number_text(span[name]) for name in ("lag_first", "lag_last", "lag_max"))
    return _span(span["start"], span["end"], places[_row_key(span)], color, label, len(owners) > 1 and not shared) | {
        "queue": f"{span['broker_name']}:{span['queue_id']}" + ("" if span["readable"] else " (not readable)"),
        "state": state,
        "owner": ", ".join(names),
        "why": span["unassigned_cause"] or span["double_owned_cause"] or "",
        "lag": f"{lag_first} → {lag_last}, at most {lag_max} messages",
    }


def _unreplayed_spans(state: Row, places: Mapping[tuple[str, str, int], int]) -> Iterable[dict[str, Any]]:
    """Spans of an unobserved (gray) or not replayed (light) state, in all rows of its view; none for other states."""
    if state["status"] not in (Status.UNOBSERVED, Status.NOT_REPLAYABLE):
        return
    color = UNOBSERVED if state["status"] == Status.UNOBSERVED else NOT_REPLAYED
    name = state["status"].lower().replace("_", " ")
    for key, place in places.items():
        if key[0] == _view(state):
            facts = {"queue": f"{key[1]}:{key[2]}", "state": name, "owner": "", "why": state["reason"], "lag": UNKNOWN}
            yield _span(state["start"], state["end"], place, color, "") | facts


def _draw_spans(chart: figure, rows: Sequence[Row], interval: Interval, tips: Mapping[str, str]) -> None:
    place = ("y", "left", "right")
    style: dict[str, Any] = {name: name for name in place} | {"height": 0.86, "line_color": PAPER}
    source = source_of_rows(rows, (*place, "color", *_fields(tips)))
    bars = chart.add_glyph(source, HBar(fill_color="color", **style), name="spans")
    # Apart from the others: where the pattern is a column, a browser makes one for every span.
    pattern = HBar(
        fill_color=None, hatch_pattern="right_diagonal_line", hatch_color="#000000", hatch_alpha=0.6, hatch_scale=9,
        hatch_weight=1.5, **style,
    )  # fmt: skip
    hatched = source_of_rows([row for row in rows if row["several"]], (*place, *_fields(tips)))
    chart.add_glyph(hatched, pattern, name="several")
    chart.add_tools(HoverTool(renderers=[bars], tooltips=[*tips.items()], point_policy="follow_mouse"))
    length = (interval.end - interval.start).total_seconds() * 1000
    labelled = [row for row in rows if row["label"] and row["right"] - row["left"] > _LABELLED * length]
    labels = Text(
        x="left", y="y", text="label", text_color="ink", x_offset=4, text_baseline="middle", text_font_size="11px",
        text_font_style="bold", background_fill_color="color",
    )  # fmt: skip
    chart.add_glyph(source_of_rows(labelled, ("left", "y", "label", "ink", "color")), labels, name="labels")


def _draw_rebalances(chart: figure, states: Sequence[Row]) -> None:
    rows = [
        {
            "x": milliseconds(state["start"]),
            "at": f"{clock(state['start'])} UTC",
            "trigger": state["trigger_type"],
            "subject": state["trigger_subject"] or "",
            "moved": f"{state['queues_moved']} of {state['queues_moved'] + state['queues_preserved']} queues moved, "
            f"at least {state['minimum_moves']} had to"
            if state["queues_moved"] is not None
            else "",
        }
        for state in states
        if state["trigger_type"] and state["status"] == Status.REPLAYED
    ]
    source = source_of_rows(rows, ("x", "at", "trigger", "subject", "moved"))
    dashed = VSpan(x="x", line_color=INK, line_width=1.5, line_dash="dashed")
    lines = chart.add_glyph(source, dashed, name="rebalances")
    tips = [("rebalance", "@at"), ("trigger", "@trigger"), ("of", "@subject"), ("moved", "@moved")]
    chart.add_tools(HoverTool(renderers=[lines], tooltips=tips))


def _fields(tips: Mapping[str, str]) -> list[str]:
    return [text.removeprefix("@") for text in tips.values()]
