"""The line through the sizes, and its picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.bench import Bench
from benchmarks.fleet import Fleet
from benchmarks.measures.growth import fit, points_json
from benchmarks.plot import main
from benchmarks.process import Outcome


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
    assert {part: bench.audit_seconds(part) for part in sizes} == expected
    assert len(sizes) == 1 or bench.empty_seconds == 7.0


def test_the_line_is_that_of_least_squares() -> None:
    line = fit([1, 2, 3], [0.0, 0.0, 3.0])
    assert (line.start, line.per_group, *line.residuals) == pytest.approx((-2.0, 1.5, 0.5, -1.0, 0.5))


def test_the_same_points_give_the_same_picture(tmp_path: Path) -> None:
    points = tmp_path / "points.json"
    points.write_text(points_json([(50, 12.0), (100, 14.5), (200, 19.5)], hours=24))
    assert json.loads(points.read_text())["points"] == [[50, 12.0], [100, 14.5], [200, 19.5]]
    for name in ("one.svg", "other.svg"):
        assert main([str(points), str(tmp_path / name)]) == 0
    picture = (tmp_path / "one.svg").read_text()
    assert picture == (tmp_path / "other.svg").read_text()
    assert "9.5 s + 50.0 ms a group" in picture
    assert "consumer groups, 24 h" in picture
