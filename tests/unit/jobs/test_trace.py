"""A trace of a warehouse made by hand, written by the command line. No Spark."""

from pathlib import Path

import pytest

from schemas import ALLOCATIONS, FINDINGS, GROUP_STATUS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import NothingPublishedError, ReportFileError
from spark_jobs.show.trace import trace
from spark_jobs.store.read.delta import delta_tables
from spark_jobs.store.read.published import Scope
from tests.support.commands import Typed
from tests.support.published import STATUS, key
from tests.support.recordings import write_warehouse
from tests.support.rows import allocation, finding, interval, member, progress
from tests.support.times import at
from tests.support.traces import tracks

HOUR = Interval(at(0), at(3600))


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """One hour. After half of it nobody owns one of the two queues of `bad`; `good` is well."""
    m = member("m")
    first, second = interval(0, 1800, m), interval(1800, 3600, m)
    of_bad = [allocation(row, f"a:{queue}", m) for row in (first, second) for queue in (0, 1)]
    of_bad[3] |= {"owners": [], "unassigned_cause": "CONFIG_HOLE"}
    lags = [progress(row, f"a:{queue}") for row in (first, second) for queue in (0, 1)]
    lags[0]["lag_first"] = None
    unowned = {"rule": "UNASSIGNED_QUEUE", "cause": "CONFIG_HOLE", "topic": "T", "subject": "a:1"}
    unowned_finding = finding(**key("bad"), **unowned, started_at=at(1800), ended_at=at(3600), finding_id="f")
    bad, good = ([row | key(group) for row in (first, second)] for group in ("bad", "good"))
    published = {
        FINDINGS: [unowned_finding],
        GROUP_STATUS: [key("good") | STATUS, key("bad") | STATUS | {"worst_severity": "ERROR"}],
        REBALANCE_INTERVALS: bad + good,
        ALLOCATIONS: [row | key("bad") for row in of_bad] + [of_bad[0] | key("good")],
        QUEUE_PROGRESS: [row | key("bad") for row in lags],
    }
    write_warehouse(tmp_path, published, 3600)
    return tmp_path


BAD = {
    ("c", "bad"): [],
    ("c", "bad", "backlog"): [(0, 10), (1800, 20), (3600, 8)],
    ("c", "bad", "T a:0"): [(0, 3600, "m")],
    ("c", "bad", "T a:1"): [(0, 1800, "m"), (1800, 3600, "no owner")],
}


def test_a_trace_beside_the_page(warehouse: Path, tmp_path: Path, typed: Typed) -> None:
    page, file = tmp_path / "r.html", tmp_path / "r.pftrace"
    printed = typed(f"report --interval {HOUR} --out {page} --trace {file}", warehouse=warehouse)
    assert page.read_text(encoding="utf-8").startswith("<!")
    found_tracks = tracks(file.read_bytes())
    assert found_tracks.pop(("c", "incidents")) == [(1800, None, "No consumer of bad owns its queues")]
    assert found_tracks == {("c",): []} | BAD | {("c", "good"): [], ("c", "good", "T a:0"): [(0, 1800, "m")]}
    assert list(found_tracks)[1] == ("c", "bad")
    assert f"The trace is in {file}: open it in ui.perfetto.dev" in printed.out


def test_what_is_left_out_is_named(warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.show.trace.GROUPS", 1)
    tables, file = delta_tables(str(warehouse)), tmp_path / "r.pftrace"
    assert trace(tables, Scope(HOUR), file, lambda _: None) == [
        "The trace has the 1 groups that need attention most, without 1 more group: choose one with --group."
    ]
    assert {path[:2] for path in tracks(file.read_bytes())} == {("c",), ("c", "incidents"), ("c", "bad")}
    monkeypatch.setattr("spark_jobs.show.trace.SPANS", 1)
    (_, of_spans) = trace(tables, Scope(HOUR), file, lambda _: None)
    assert of_spans.startswith("The trace has only the first 1 of 3 spans of ownership of group bad (cluster c)")


def test_a_trace_that_cannot_be_written_is_an_error(warehouse: Path, tmp_path: Path) -> None:
    tables = delta_tables(str(warehouse))
    with pytest.raises(ReportFileError, match=r"the trace cannot be written to .*/no/r\.pftrace"):
        trace(tables, Scope(HOUR), tmp_path / "no" / "r.pftrace", lambda _: None)
    with pytest.raises(NothingPublishedError, match="there is no consumer group B"):
        trace(tables, Scope(HOUR, consumer_group="B"), tmp_path / "r.pftrace", lambda _: None)
    assert not (tmp_path / "r.pftrace").exists()
