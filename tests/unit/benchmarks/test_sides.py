"""Two commits take turns, and each is measured with its own code: here, what stands in for `spark_jobs`."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.bench import Bench
from benchmarks.fleet import Fleet
from benchmarks.measures import before
from benchmarks.process import MeasurementError
from benchmarks.sides import Side
from spark_jobs.domain.model.intervals import Interval

HOUR = Interval.parse("2026-01-01T00:00/2026-01-01T01:00")
#: What `audits.py` imports; the run writes down what it was asked for, beside the warehouse.
STAND_IN = {
    "__init__.py": "",
    "config.py": "class Configuration:\n    model_validate_json = staticmethod(lambda text: text)\n",
    "runtime/session.py": "get_session = lambda: print('the JVM says something')\n",
    "store/warehouse.py": "class Warehouse:\n    parse = staticmethod(str)\n",
    "domain/__init__.py": "",
    "domain/model/intervals.py": "class Interval:\n    parse = staticmethod(str)\n",
    "jobs/__init__.py": "",
    "pipeline/run.py": """
RunRequest = str
def run(spark, warehouse, request, configuration):
    if request == 'fail':
        raise ValueError('no such step')
    with open(warehouse, 'a') as asked:
        print(configuration, request, file=asked)
""",
    "cli.py": "import sys\nsys.exit({'clean': 0, 'warnings': 2}.get(sys.argv[1], 'it failed'))\n",
}


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return commit(tmp_path / "commit", STAND_IN)


def commit(root: Path, files: Mapping[str, str]) -> Side:
    for name, text in files.items():
        file = root / "spark_jobs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Side("before", root)


def test_a_warm_process_audits_what_it_is_asked_for(side: Side, tmp_path: Path) -> None:
    with side.warm(tmp_path / "warehouse", {"cadence_seconds": 10}) as audit:
        assert audit(HOUR) > 0
        audit(HOUR)
    assert (tmp_path / "warehouse").read_text() == f'{{"cadence_seconds": 10}} {HOUR}\n' * 2


def test_an_audit_that_fails_says_why(side: Side, tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match="no such step"), side.warm(tmp_path / "warehouse", {}) as audit:
        audit("fail")  # type: ignore[arg-type]


def test_a_cold_process_ends_well_with_warnings_too(side: Side) -> None:
    assert side.cold("clean") > 0
    assert side.cold("warnings") > 0
    with pytest.raises(MeasurementError, match=r"before: rebalance-audit run ended with 1:\nit failed"):
        side.cold("run")


def test_a_folder_that_is_no_commit_is_not_measured_as_one(side: Side, tmp_path: Path) -> None:
    side.check()
    Side("now").check()
    with pytest.raises(MeasurementError, match="is no commit"):
        Side("before", tmp_path).check()


def test_the_sides_take_turns(tmp_path: Path) -> None:
    seconds = {"now": iter([9.0, 1.0, 2.0, 3.0]), "before": iter([9.0, 8.0, 4.0, 5.0])}
    turns: list[str] = []

    def once(side: str) -> float:
        turns.append(side)
        return next(seconds[side])

    bench = Bench(tmp_path, Fleet(), 1, lambda _: None)
    taken = before._ratio(bench, "auditing", [lambda: once("now"), lambda: once("before")], rounds=3)
    assert taken.value == 2.0 / 5.0
    assert turns == ["now", "before"] * 4
