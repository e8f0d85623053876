"""A browser without a network, and pages opened in it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.support.browser import CHROMIUM


@dataclass
class Opened:
    """A page, what it asked the network for, and what it complained of."""

    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def charts(self, group: str) -> None:
        """Waits until the charts of a group are drawn."""
        self.page.wait_for_selector(f"#{group}[data-drawn]")

    def data(self, chart: str, renderer: str, of: int = 0) -> list[dict[str, Any]]:
        """What a chart draws, a dict per mark; `of` counts the charts of that name."""
        script = """([name, renderer, place]) => {
            const chart = Bokeh.documents.flatMap((one) => one.roots()).filter((one) => one.name === name)[place];
            const data = chart.renderers.find((one) => one.name === renderer).data_source.data;
            const columns = Object.keys(data);
            return Array.from(data[columns[0]], (_, row) =>
                Object.fromEntries(columns.map((column) => [column, data[column][row]])));
        }"""
        return list(self.page.evaluate(script, [chart, renderer, of]))

    def marks(self, chart: str, renderer: str, *columns: str) -> list[tuple[Any, ...]]:
        """These columns of what the first chart of that name draws; None: not a number, where a line is broken."""
        cells = ([mark[name] for name in columns] for mark in self.data(chart, renderer))
        return [tuple(None if cell != cell else cell for cell in row) for row in cells]

    def time(self) -> tuple[float, float]:
        """The time that the charts show, in milliseconds since 1970."""
        start, end = self.page.evaluate(
            "() => { const {start, end} = Bokeh.documents[0].get_model_by_name('time'); return [start, end]; }"
        )
        return start, end

    def has_marked(self, start: float, end: float) -> bool:
        """Whether every chart marks this time."""
        marks = "Bokeh.documents[0].roots().map((one) => one.center.find((model) => model.name === 'mark'))"
        marked = f"{marks}.every((one) => one.visible && one.left === {start} && one.right === {end})"
        return bool(self.page.evaluate(marked))

    def check_inert(self) -> None:
        """Nothing of what a name would be as HTML has come alive, and nothing complains."""
        assert self.page.evaluate("window.hit") is None
        assert self.page.locator("img, iframe, object, form, embed").count() == 0
        links = self.page.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert {link[:1] for link in links} == {"#"}
        assert self.complaints == []

    def hover(self, chart: str, x: float, y: float) -> str:
        """What the tooltip says with the mouse at this place of a chart's own coordinates."""
        where = """([name, x, y]) => {
            const chart = Bokeh.documents.flatMap((one) => one.roots()).find((one) => one.name === name);
            const view = Bokeh.index.get_by_id(chart.id);
            view.el.scrollIntoView({block: "center"});
            const box = view.el.getBoundingClientRect();
            return [box.x + view.frame.x_scale.compute(x), box.y + view.frame.y_scale.compute(y)];
        }"""
        left, top = self.page.evaluate(where, [chart, x, y])
        self.page.mouse.move(left, top)
        self.page.mouse.move(left + 3, top + 1)
        self.page.wait_for_selector(".bk-Tooltip")
        tips = self.page.locator(".bk-Tooltip")
        return " ".join(tips.evaluate_all("all => all.map((one) => one.shadowRoot.textContent)"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens HTML from a file: in a browser that is offline, at a place of the page, light or dark, when the charts of
    `drawn` are drawn.
    """
    pages: list[BrowserContext] = []

    def opened(html: str, place: str = "", scheme: Any = "light", drawn: str = "") -> Opened:
        file = tmp_path / f"{len(pages)}.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1400, "height": 1000})
        context.set_default_timeout(30_000)
        page = context.new_page()
        pages.append(context)
        found = Opened(page)
        page.on("request", lambda request: found.asked.append(request.url))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on(
            "console", lambda said: found.complaints.append(said.text) if said.type in ("error", "warning") else None
        )
        page.goto(file.as_uri() + place)
        if drawn:
            found.charts(drawn)
        return found

    yield opened
    for context in pages:
        context.close()
