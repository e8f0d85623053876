"""The contrast of charts in a browser, light and dark: 4.5 : 1 against the ground, as WCAG 2 counts."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spark_jobs.domain.model.window import to_micros
from spark_jobs.show.page.page import page, what_if_page
from spark_jobs.show.page.style import NO_OWNER, NOT_REPLAYED, OWNERS, SEVERITY, UNOBSERVED, contrast, ink_on
from spark_jobs.what_if.outcome import CaseOutcome, Comparison
from tests.support.browser import needs_browser
from tests.support.opened import Opened
from tests.support.pages import content, incident, lag, troubled, twins
from tests.support.times import HOUR, at

Open = Callable[..., Opened]

#: Of every chart that is drawn: (what, its color, the color behind it).
_DRAWN = """() => Bokeh.documents.flatMap((one) => one.roots()).flatMap((chart) => {
    const ground = chart.background_fill_color, around = chart.border_fill_color, found = [];
    if (chart.title?.text) found.push(['title ' + chart.title.text, chart.title.text_color, around]);
    for (const axis of [...chart.below, ...chart.left].filter((one) => one.major_label_text_color !== undefined)) {
        for (const name of ['major_label_text_color', 'axis_label_text_color', 'axis_line_color',
                            'major_tick_line_color', 'minor_tick_line_color']) {
            found.push([name, axis[name], around]);
        }
    }
    for (const one of [...chart.above, ...chart.center].filter((one) => one.label_text_color !== undefined)) {
        found.push(['legend', one.label_text_color, one.background_fill_color]);
        found.push(['ground of the legend', one.label_text_color, ground]);
    }
    for (const one of chart.renderers.filter((one) => one.glyph && !['hbar', 'lanes'].includes(one.name))) {
        const {type, line_color, text_color} = one.glyph;
        const color = (of) => of?.value ?? of;
        if (['Line', 'MultiLine', 'VSpan', 'HSpan'].includes(type)) found.push([type, color(line_color), ground]);
        if (type === 'Text' && !text_color.field) found.push([type, color(text_color), ground]);
    }
    return found;
})"""


def drawn_texts(opened: Opened) -> list[tuple[str, str, str]]:
    drawn: list[Any] = opened.page.evaluate(_DRAWN)
    return [(what, ink, ground) for what, ink, ground in drawn]


def unreadable(drawn: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    return [one for one in drawn if contrast(one[1], one[2]) < 4.5]


def outcome(label: str, *backlog: float) -> CaseOutcome:
    return CaseOutcome(label, 2, 0, 0, 0, 4, 0, 0, highest=9, last=9, curve=np.array(backlog))


def compared(cases: int) -> Comparison:
    times = [to_micros(at(second)) for second in (0, 600, 1200)]
    others = [outcome(f"--members +{number}", 0, number, 2 * number) for number in range(1, cases + 1)]
    return Comparison(times, outcome("really happened", 0, 500, 1000), others, 0.0)


@needs_browser
@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 24, 28)")])
@pytest.mark.parametrize("kind", ["what-if", "group", "incidents"])
def test_text_and_lines_contrast_with_what_is_behind_them(kind: str, scheme: str, paper: str, open_page: Open) -> None:
    if kind == "what-if":
        opened = open_page(what_if_page("g", HOUR, compared(8)), scheme=scheme)
        opened.page.wait_for_selector("#what-if[data-drawn]")
    else:
        rows = [lag(0, 600, queue, 1, queue) for queue in range(6)]
        report = page(content(replace(twins(troubled()), backlog=rows), incidents=[incident(600, None)]))
        opened = open_page(report, "#group-1" if kind == "group" else "", scheme=scheme)
        opened.charts("group-1" if kind == "group" else "incidents")
    assert opened.complaints == []
    drawn = drawn_texts(opened)
    assert {"axis_label_text_color", "Line" if kind != "incidents" else "VSpan"} <= {what for what, *_ in drawn}
    assert unreadable(drawn) == []
    assert opened.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == paper
    shown = {tuple(int(one[place : place + 2], 16) for place in (1, 3, 5)) for *_, one in drawn}
    assert shown == {tuple(int(part) for part in paper[4:-1].split(","))}


@needs_browser
def test_a_label_has_its_bars_color_behind_it_where_the_bar_is_hatched(open_page: Open) -> None:
    opened = open_page(page(content(twins(troubled()))), "#group-1", drawn="group-1")
    # The color of the third member, which is the first of the twins.
    assert [one["color"] for one in opened.data("Owners", "labels") if one["label"] == "3+4"] == ["#009E73"]
    find = "Bokeh.documents.flatMap((one) => one.roots()).find((one) => one.name === 'Owners')"
    script = f"() => {find}.renderers.find((one) => one.name === 'labels').glyph.background_fill_color.field"
    assert opened.page.evaluate(script) == "color"


@pytest.mark.parametrize("color", [*OWNERS, *SEVERITY.values(), NO_OWNER, UNOBSERVED, NOT_REPLAYED])
def test_a_label_can_be_read_on_its_bar(color: str) -> None:
    assert contrast(ink_on(color), color) >= 4.5


@pytest.mark.parametrize(("one", "other", "ratio"), [("#000000", "#ffffff", 21), ("#777777", "#ffffff", 4.48)])
def test_contrast_is_counted_as_wcag_does(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == contrast(other, one) == pytest.approx(ratio, abs=0.005)
