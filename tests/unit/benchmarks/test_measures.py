"""Single measures: the times of several sizes, and the duration of the tests by their log."""

from pathlib import Path

import pytest

from benchmarks.bench import Bench
from benchmarks.fleet import Fleet
from benchmarks.logs import make
from benchmarks.measures.commands import test_suite as suite_minutes
from benchmarks.process import Outcome
from spark_jobs.ingest.logs.entries import LogZone
from spark_jobs.ingest.logs.read import read_files


@pytest.mark.parametrize(
    ("seconds", "sizes", "expected"),
    [([[7.0], [1.0], [5.0]], (0.1, 1.0), {0.1: 1.0, 1.0: 5.0}), ([[5.0]], (1.0,), {1.0: 5.0})],
)
def test_every_size_has_its_own_time(
    tmp_path: Path, seconds: list[list[float]], sizes: tuple[float, ...], expected: dict[float, float]
) -> None:
    """Of several sizes, what is audited first is the empty step."""
    bench = Bench(tmp_path, Fleet(), 1, lambda _: None, sizes)
    bench.__dict__["audits"] = Outcome({"seconds": seconds}, 0)
    assert {part: bench.audit_times(part).median for part in sizes} == expected
    assert len(sizes) == 1 or bench.empty_times.median == 7.0


def bench(log: Path | None) -> Bench:
    return Bench(Path(), Fleet(), 1, lambda _: None, test_log=log)


def test_the_last_line_of_pytest_counts(tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    log.write_text("warm in 3s\n===== 512 passed, 2 skipped in 402.00s (0:06:42) =====\n")
    assert suite_minutes(bench(log)).value == pytest.approx(6.7)


def test_logs_of_any_size_follow_each_other(tmp_path: Path) -> None:
    make(tmp_path / "logs", 1)
    paths = sorted((tmp_path / "logs").iterdir())
    assert 1_000_000 < sum(path.stat().st_size for path in paths) < 3_000_000
    logs = list(read_files(paths, LogZone(None)))
    assert len({len(log.events) for log in logs}) == 1
    assert all(log.events for log in logs)
    assert not any(log.went_back for log in logs)
