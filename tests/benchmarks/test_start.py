"""How long the tests took, as their log says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench import Bench
from benchmarks.fleet import Fleet
from benchmarks.measure import NotMeasuredError
from benchmarks.measures.start import test_suite as suite_minutes


def bench(log: Path | None) -> Bench:
    return Bench(Path(), Fleet(), 1, lambda _: None, test_log=log)


def test_the_last_line_of_pytest_counts(tmp_path: Path) -> None:
    log = tmp_path / "test.log"
    log.write_text("warm in 3s\n===== 512 passed, 2 skipped in 402.00s (0:06:42) =====\n")
    assert suite_minutes(bench(log)).value == pytest.approx(6.7)


def test_without_a_log_it_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for log, why in ((None, "was not given"), (tmp_path / "none", "cannot be read"), (tmp_path / "empty", "not say")):
        with pytest.raises(NotMeasuredError, match=why):
            suite_minutes(bench(log))
