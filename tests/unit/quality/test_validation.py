"""A real Great Expectations context: what failed is told with its numbers, errors are errors, and runs are listed."""

import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spark_jobs.errors import QualitySiteError
from spark_jobs.pipeline.quality import validation
from spark_jobs.pipeline.quality.checks import CheckResults, closed_clusters
from spark_jobs.pipeline.quality.suites import suite
from spark_jobs.pipeline.quality.validation import validate, write_pages
from tests.support.snapshots import membership
from tests.support.times import at
from tests.unit.quality.pages import HOSTILE, SUITE, counted, rows, validated

_FEW = "few_rows_are_quarantined"


def page_of(site: Path, run_id: str) -> str:
    (page,) = (site / "data_docs" / "validations").glob(f"*/{run_id}/*/*.html")
    return page.read_text(encoding="utf-8")


def row_of(page: str, name: str) -> str:
    """The table row of an expectation."""
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL) if f">{name}</span>" in row]
    return str(row)


def test_what_failed_is_shown_with_its_numbers(tmp_path: Path) -> None:
    """3 of 8 rows have a connection without an id: 37.5 %."""
    results = {one.expectation: one for one in validated(tmp_path, "r1", rows("x", "y", "<z>", kept=5))}
    failed = results["client_ids_are_names"]
    assert failed[:9] == (at(0), "membership_snapshots", "client_ids_are_names", None, "warning", False, 3.0, 3, 37.5)
    assert len(failed.examples) == 3
    assert any('"consumer_group":"\\u003cz\\u003e"' in key for key in failed.examples)
    assert results["few_rows_are_quarantined"][4:9] == ("critical", False, 37.5, None, None)
    expected = ["client_ids_are_names", "few_rows_are_quarantined"]
    assert [name for name, one in results.items() if not one.success] == expected
    page = page_of(tmp_path, "r1")
    row = row_of(page, "client_ids_are_names")
    assert "text-danger" in row
    assert "3 unexpected values found. 37.5% of 8 total rows." in row
    assert "(warning): Every connection has a client id of 1 to 255 characters." in " ".join(row.split())
    assert "text-success" in row_of(page, "keys_are_unique")
    assert "37.5" in row_of(page, "few_rows_are_quarantined")


def test_a_limit_counts_in_each_cluster_and_a_row_without_one_in_all(tmp_path: Path) -> None:
    """Of `c` 1 of 99 rows breaks a rule, of `d` 1 of 2; then each has one more, whose cluster is not known."""
    large = [membership(second, "" if second == 0 else "c1") for second in range(99)]
    small = [membership(second, "" if second == 0 else "c1") | {"cluster": "d"} for second in range(2)]
    nameless = [membership(0, "c1") | {"cluster": ""}]
    (few,) = (one for one in validated(tmp_path, "r1", counted([*large, *small]), 1.5) if one.expectation == _FEW)
    assert (few.success, few.observed_value, few.clusters) == (False, 50.0, ["d"])
    assert closed_clusters([few], {"c", "d"}) == {"d"}
    every = validated(tmp_path, "r2", counted([*large, *small, *nameless]), 1.5)
    (few,) = (one for one in every if one.expectation == _FEW)
    assert (round(few.observed_value, 2), few.clusters) == (66.67, ["c", "d"])


def test_the_index_lists_the_newest_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_RUNS_SHOWN", 2)
    for run_id in ("first", "second", "third"):
        validated(tmp_path, run_id, rows())
        time.sleep(1)  # the index sorts by the second
    index = (tmp_path / "data_docs" / "index.html").read_text(encoding="utf-8")
    assert [name for name in ("first", "second", "third") if f"<td>{name}</td>" in index] == ["second", "third"]
    assert index.index("<td>third</td>") < index.index("<td>second</td>")
    kept = {path.parents[1].name for path in tmp_path.glob("*/**/*membership*.*") if path.is_file()}
    assert kept == {"second", "third"}
    links = re.findall(r'href="([^"]+)"', index)
    assert len(links) == 2
    assert all((tmp_path / "data_docs" / link).is_file() for link in links)


def test_an_error_is_an_error_and_no_failed_expectation() -> None:
    of_another_suite = {SUITE.table: [{"step_start": "", "rows": 1, "broken": {}}]}
    with pytest.raises(RuntimeError, match="cluster_is_a_name"):
        validate([suite(SUITE)], of_another_suite)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file" / "_quality"
    blocked.parent.write_text("in its place")
    checked = validate([suite(SUITE)], rows())
    with pytest.raises(QualitySiteError, match=rf"cannot be written to {blocked}: Not a directory"):
        write_pages(checked, "r", blocked)
    site = tmp_path / "_quality"
    in_place = site / "validations" / "membership_snapshots"
    in_place.parent.mkdir(parents=True)
    in_place.write_text("")
    with pytest.raises(QualitySiteError, match=rf"cannot be written to {site}: "):
        write_pages(checked, "r", site)
    in_place.unlink()
    (site / "data_docs").write_text("")
    with pytest.raises(QualitySiteError, match=rf"cannot be written to {site}: "):
        write_pages(checked, "r", site)


def test_pages_ask_nothing_of_the_network_and_run_nothing(tmp_path: Path) -> None:
    validated(tmp_path, "r1", rows(*HOSTILE))
    for page in (tmp_path / "data_docs").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "//" not in text, page
        assert "<script" not in text, page
        assert "default-src 'none'" in text, page


def test_runs_side_by_side_forget_old_runs_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / "validations" / "suite" / f"old{number}").mkdir(parents=True)
    alone, remove = threading.Lock(), shutil.rmtree

    def slowly(folder: Path) -> None:
        assert alone.acquire(blocking=False)
        time.sleep(0.05)
        remove(folder)
        alone.release()

    monkeypatch.setattr(validation, "_RUNS_SHOWN", 0)
    monkeypatch.setattr(shutil, "rmtree", slowly)
    with ThreadPoolExecutor(2) as pool:
        pages = list(pool.map(write_pages, (CheckResults(),) * 2, ("r0", "r1"), (tmp_path, tmp_path)))
    assert pages == [tmp_path / "data_docs" / "index.html"] * 2
    assert list(tmp_path.glob("validations/*/old*")) == []
