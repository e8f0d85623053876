"""Values against their goals, and the exit code of the benchmark."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import command
from benchmarks.bench import Bench
from benchmarks.errors import NotMeasuredError
from benchmarks.fleet import Fleet
from benchmarks.measure import CallResults, Measure, measured
from benchmarks.process import MeasurementError
from benchmarks.times import Times


def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, Fleet(), 1, lambda _: None)


def of(value: float, limit: float | None) -> Measure:
    return Measure("one", "one ÷ other", limit, lambda _: CallResults(value, "[from]"))


def test_a_ratio_is_that_of_the_medians_and_shows_how_far_rounds_are_apart() -> None:
    found = CallResults.ratio(Times([4.0, 9.0, 6.0]), Times([0.5]), "3 groups")
    assert found == CallResults(12.0, "6.0 s (4.0–9.0) ÷ 0.50 s, 3 groups")


@pytest.mark.parametrize(
    ("value", "limit", "verdict", "missed"),
    [
        (1.9, 2.0, "met", False),
        (2.0, 2.0, "met", False),
        (2.1, 2.0, "met, within 10%", False),
        (2.3, 2.0, "missed by 15%", True),
        (28.0, 2.0, "missed by 1300%", True),
        (99.0, None, "", False),
    ],
)
def test_a_goal_is_missed_by_more_than_a_tenth(
    value: float, limit: float | None, verdict: str, missed: bool, tmp_path: Path
) -> None:
    result = measured(of(value, limit), bench(tmp_path))
    assert (result.verdict, result.missed) == (verdict, missed)


def test_less_than_a_fleet_day_is_not_evaluated(tmp_path: Path) -> None:
    measure = replace(of(28.0, 2.0), of_fleet_day=True)
    result = measured(measure, Bench(tmp_path, Fleet(hours=2), 1, lambda _: None))
    assert (result.verdict, result.missed) == ("not a fleet-day", False)


def test_what_is_not_there_is_no_miss_and_what_fails_is_one(tmp_path: Path) -> None:
    def absent(_: Bench) -> CallResults:
        raise NotMeasuredError("there is no mvn")

    def broken(_: Bench) -> CallResults:
        raise MeasurementError("audit ended with 1:\njava.lang.OutOfMemoryError")

    found = [measured(Measure("one", "one", 1.0, take), bench(tmp_path)) for take in (absent, broken)]
    expected = [("not measured", "not measured: there is no mvn", False), ("failed", "audit ended with 1:", True)]
    assert [(result.verdict, result.detail, result.missed) for result in found] == expected


@pytest.mark.parametrize(("value", "code", "verdict"), [(1.0, 0, "met"), (1.2, 1, "missed by 20%")])
def test_every_goal_stands_beside_its_value_and_the_exit_code_says_whether_one_was_missed(
    value: float,
    code: int,
    verdict: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(command, "MEASURES", (of(value, 1.0),))
    monkeypatch.setattr(command, "_on_two_cores", lambda: None)
    assert command.main(["--directory", str(tmp_path)]) == code
    cells = [cell.strip() for cell in capsys.readouterr().out.splitlines()[4].strip("│").split("│")]
    assert cells == ["one ÷ other", f"{value:g}", "≤ 1", verdict, "[from]"]
    assert list(tmp_path.iterdir()) == []
