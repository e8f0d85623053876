"""Data Docs in a real browser without a network: readable, red where something failed, deaf to hostile names."""

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import CHROMIUM, needs_browser
from tests.unit.quality.pages import HOSTILE, rows, validated

pytestmark = needs_browser
#: Opens a page in a frame, and writes down what the browser made of it.
LOOK = """<!DOCTYPE html><iframe src="%s" width="1200" height="2000"></iframe><pre></pre><script>
onload = () => {
  const page = frames[0].document, seen = (selector) => [...page.querySelectorAll(selector)];
  const said = {
    title: page.title,
    text: page.body.innerText,
    active: seen('script, img, iframe, object, form, link').map((one) => one.outerHTML),
    handlers: seen('*').filter((one) => [...one.attributes].some((a) => a.name.startsWith('on'))).length,
    links: seen('a').map((one) => one.getAttribute('href')),
    fetched: frames[0].performance.getEntriesByType('resource').map((one) => one.name),
    red: seen('tr').filter((row) => row.querySelector('.text-danger')).map((row) => ({
      text: row.innerText,
      color: frames[0].getComputedStyle(row.querySelector('.text-danger')).color,
      mark: frames[0].getComputedStyle(row.querySelector('.fas'), '::before').content,
    })),
  };
  document.querySelector('pre').textContent = JSON.stringify(said);
}
</script>"""


def opened(page: Path, folder: Path) -> dict[str, Any]:
    """What a browser that reaches nothing but files shows of the page."""
    look = folder / "look.html"
    look.write_text(LOOK % page.as_uri(), encoding="utf-8")
    assert CHROMIUM is not None
    answer = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={folder / 'profile'}",
            "--allow-file-access-from-files",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=5000",
            "--dump-dom",
            look.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (said,) = re.findall(r"<pre>(.*)</pre>", answer.stdout, re.DOTALL)
    seen: dict[str, Any] = json.loads(html.unescape(said))
    return seen


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a run where everything holds, and of one where rows with hostile names do not."""
    folder = tmp_path_factory.mktemp("site")
    validated(folder, "clean", rows())
    validated(folder, "failed", rows(*HOSTILE))
    return folder / "data_docs"


def test_the_index_lists_the_runs(site: Path, tmp_path: Path) -> None:
    index = opened(site / "index.html", tmp_path)
    table = [line.split("\t")[-2:] for line in index["text"].splitlines() if "membership_snapshots" in line]
    assert table == [["failed", "membership_snapshots"], ["clean", "membership_snapshots"]]
    assert [row["color"] for row in index["red"]] == ["rgb(207, 34, 46)"]
    assert "failed" in index["red"][0]["text"]
    assert (index["active"], index["fetched"], index["handlers"]) == ([], [], 0)


def test_a_failed_expectation_is_red_with_its_numbers_and_hostile_names_are_text(site: Path, tmp_path: Path) -> None:
    (path,) = site.glob("validations/*/failed/*/*.html")
    page = opened(path, tmp_path)
    ids, share = page["red"]
    assert "client_ids_are_names" in ids["text"]
    assert "5 unexpected values found. 62.5% of 8 total rows." in ids["text"]
    assert "few_rows_are_quarantined (critical): No more than 1 %" in share["text"]
    assert "2026-03-01T10:00:00+00:00: 62.5" in share["text"]
    assert {(one["color"], one["mark"]) for one in page["red"]} == {("rgb(207, 34, 46)", '"✘"')}
    for name in (
        r"\u003cscript\u003edocument.title = 'owned'\u003c/script\u003e",
        r"\"'\u003e\u003cimg src=x onerror=\"document.title = 'owned'\"\u003e",
        "javascript:document.title='owned'",
        r"\u0026lt;b\u0026gt; ${name} {{ 7 * 7 }} $says",
        r"\u202eevil\u2066",
    ):
        assert f'"consumer_group":"{name}"' in ids["text"]
    assert (page["active"], page["fetched"], page["handlers"]) == ([], [], 0)
    assert page["links"] == ["../../../../index.html"]
    assert "owned" not in page["title"]
