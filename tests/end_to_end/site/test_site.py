"""The documentation site in a real browser, wide and narrow (`make docs` builds it first)."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.support.browser import CHROMIUM, needs_browser

SITE = Path(__file__).parents[3] / "build" / "site"
pytestmark = [pytest.mark.site, needs_browser]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert (SITE / "index.html").exists(), "run make site"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(params=[1280, 400], ids=["wide", "narrow"])
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page(viewport={"width": request.param, "height": 900})
        browser.close()


def test_nothing_is_fetched_elsewhere_and_no_page_is_wider_than_its_window(page: Page, address: str) -> None:
    asked = set[str]()
    page.on("request", lambda request: asked.add(request.url))
    for name in sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html")):
        page.goto(f"http://{address}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert {url for url in asked if not url.startswith((f"http://{address}/", "data:", "blob:"))} == set()


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("UNASSIGNED_QUEUE", "rules/UNASSIGNED_QUEUE.html"),
        ("exit code", "cli.html"),
        ("silence", "tune.html"),
        ("uninstall", "install.html"),
        ("troubleshooting", "faq.html"),
    ],
)
def test_the_search_finds(page: Page, address: str, words: str, name: str) -> None:
    page.goto(f"http://{address}/index.html")
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.wait_for_selector(".md-search-result__link")
    assert name in (page.locator(".md-search-result__link").first.get_attribute("href") or "")


def test_a_wide_table_scrolls_and_its_names_stay_whole(page: Page, address: str) -> None:
    page.goto(f"http://{address}/recording-format.html")
    name = page.locator("td code").first
    assert name.evaluate("it => it.getClientRects().length") == 1
    assert page.locator(".md-typeset__scrollwrap").first.evaluate("it => getComputedStyle(it).overflowX") == "auto"


@pytest.mark.parametrize(
    ("old", "new"),
    [("architecture", "replay"), ("report", "triage"), ("backfill", "schedule"), ("fidelity", "support")],
)
def test_an_old_address_leads_to_the_new_page(page: Page, address: str, old: str, new: str) -> None:
    page.goto(f"http://{address}/{old}.html")
    page.wait_for_url(f"**/{new}.html")
