"""What a run costs now ÷ at a commit before, which `--before` names; the two take turns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from benchmarks.bench import EMPTY, LONG_ROUNDS, Bench
from benchmarks.measure import CallResults
from benchmarks.sides import Side
from benchmarks.times import Times
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.operate.demo import INTERVAL as RECORDED_HOUR
from spark_jobs.operate.demo import example_files

#: Does it once, on one side; seconds.
Once = Callable[[], float]


def warm_hour(bench: Bench) -> CallResults:
    """A run over the recording's hour in a process that has done it before."""
    sides = bench.two_sides()
    configuration = yaml.safe_load(example_files().configuration.read_text(encoding="utf-8"))
    with _warm({side: bench.loaded_by(side) for side in sides}, configuration) as audits:
        return _ratio(bench, "auditing the recording's hour, warm", _turns(audits, RECORDED_HOUR), bench.rounds)


def fleet_day(bench: Bench) -> CallResults:
    """A run over the whole fleet in a process that has audited its first hour."""
    sides, name, interval = bench.two_sides(), bench.full_fleet_name, bench.full_fleet.interval
    with _warm({side: bench.copied(name, side.name) for side in sides}, {}) as audits:
        bench.say("auditing the whole fleet's first hour, now and before")
        for audit in audits:
            audit(Interval(interval.start, interval.start + timedelta(hours=1)))
        rounds = min(bench.rounds, LONG_ROUNDS)
        return _ratio(bench, "auditing the whole fleet", _turns(audits, interval), rounds, warm_up=False)


def cold_hour(bench: Bench) -> CallResults:
    """`rebalance-audit run` over the recording's hour, the whole process."""
    options = ("--config", str(example_files().configuration), "--interval", str(RECORDED_HOUR))
    return _cold(bench, "auditing the recording's hour, cold", *options)


def empty_step(bench: Bench) -> CallResults:
    """`rebalance-audit run` over an hour in which nothing was recorded, the whole process."""
    return _cold(bench, "auditing an empty step, cold", "--interval", str(EMPTY))


def _cold(bench: Bench, what: str, *options: str) -> CallResults:
    def once(side: Side) -> Once:
        warehouse = str(bench.loaded_by(side))
        return lambda: side.cold("run", "--warehouse", warehouse, "--fail-on", "NEVER", *options)

    return _ratio(bench, what, [once(side) for side in bench.two_sides()], bench.rounds)


@contextmanager
def _warm(
    warehouses: Mapping[Side, Path], configuration: Mapping[str, Any]
) -> Iterator[list[Callable[[Interval], float]]]:
    """A process per side, in its warehouse."""
    with ExitStack() as started:
        yield [started.enter_context(side.warm(place, configuration)) for side, place in warehouses.items()]


def _turns(audits: Sequence[Callable[[Interval], float]], interval: Interval) -> list[Once]:
    return [lambda audit=audit: audit(interval) for audit in audits]  # type: ignore[misc]


def _ratio(bench: Bench, what: str, sides: Sequence[Once], rounds: int, *, warm_up: bool = True) -> CallResults:
    """Medians of both sides, which take turns; with a warm-up, the first turn of each does not count."""
    bench.say(f"{what}, now and before, {rounds} × in turns")
    if warm_up:
        for once in sides:
            once()
    turns = [[once() for once in sides] for _ in range(rounds)]
    now, before = (Times(turn[place] for turn in turns) for place in (0, 1))
    return CallResults.ratio(now, before, f"{rounds} rounds")
