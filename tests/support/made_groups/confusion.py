"""Findings in random groups, rule by rule: how often they are right, what they miss, and how late they are.

`python -m tests.support.made_groups.confusion --groups 500 --faults 50 --hours 24 --seed 1` prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from multiprocessing import Pool
from random import Random
from statistics import median
from typing import NamedTuple

from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import SECOND, AuditSettings
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.made_groups.kinds import HEALTHY, Kind
from tests.support.made_groups.lives import Time
from tests.support.made_groups.planted import PLANTED
from tests.support.made_groups.recorder import recorded
from tests.support.made_groups.samples import START

CADENCES = (10, 20, 60)
#: Cadences within which a fault's begin and end are to be found.
TOLERANCE = 2
HOUR = 3600 * SECOND


class Alarm(NamedTuple):
    """A time, in seconds, in which a rule finds something beyond INFO, with nothing between two findings of it."""

    rule: str
    time: Time


class Evaluated(NamedTuple):
    """One made group: what is wrong with it and when (None: nothing), and what was found."""

    name: str
    cadence: int
    rules: frozenset[str]
    fault: Time | None
    alarms: Sequence[Alarm]


@dataclass
class Tally:
    """Of one rule: groups in which it was planted and found, all else that it found, and how far off, in cadences, the
    findings begin and end.
    """

    planted: int = 0
    found: int = 0
    false_alarms: int = 0
    begins: list[float] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)


def kinds(groups: int, faults: int) -> Iterator[tuple[Kind, int]]:
    """So many of each kind in turn, numbered; of the groups, so many are planted faults."""
    for of_kind, count in ((HEALTHY, groups - faults), (tuple(PLANTED), faults)):
        yield from ((of_kind[number % len(of_kind)], number) for number in range(count))


def evaluated(one: tuple[Kind, int], hours: int, seed: str) -> Evaluated:
    """Every fourth recorder is slow."""
    kind, number = one
    name, random = f"{kind.__name__}-{number}", Random(f"{seed} {kind.__name__} {number}")
    cadence, is_slow = random.choice(CADENCES), random.random() < 0.25
    life = kind(random, hours)
    history = recorded(name, life, random, cadence, is_slow=is_slow)
    settings = AuditSettings(HOUR, cadence * SECOND, 3 * cadence * SECOND, Thresholds(), sightings=24 * HOUR)
    steps = evaluate(history, StrategySettings(), settings, START, START + hours * HOUR)
    found = [
        Alarm(each.rule, Time((each.started_at - START) // SECOND, (each.ended_at - START) // SECOND))
        for step in steps
        for each in step.findings
        if each.severity != "INFO"
    ]
    rules = frozenset(each.partition("/")[0] for each in PLANTED.get(kind, ()))
    return Evaluated(name, cadence, rules, life.fault, list(_joined(found)))


def _joined(alarms: Iterable[Alarm]) -> Iterator[Alarm]:
    """Those of one rule that leave no gap are one: steps cut them, and topics, clients and causes share a fault."""
    for rule, same in groupby(sorted(alarms), key=lambda one: one.rule):
        (start, end), *others = (one.time for one in same)
        for following in others:
            if following.start > end:
                yield Alarm(rule, Time(start, end))
                start, end = following
            end = max(end, following.end)
        yield Alarm(rule, Time(start, end))


def tallies(groups: Iterable[Evaluated]) -> Mapping[str, Tally]:
    """By rule. A fault is found once: by the first alarm that shares time with it."""
    tally: dict[str, Tally] = defaultdict(Tally)
    for group in groups:
        fault, missing = group.fault, set(group.rules)
        for rule in group.rules:
            tally[rule].planted += 1
        for rule, (start, end) in group.alarms:
            if rule in missing and fault and start < fault.end and fault.start < end:
                missing.remove(rule)
                tally[rule].found += 1
                tally[rule].begins.append((start - fault.start) / group.cadence)
                tally[rule].ends.append((end - fault.end) / group.cadence)
            else:
                tally[rule].false_alarms += 1
    return tally


def table(tally: Mapping[str, Tally]) -> Iterator[str]:
    """A row per rule that was planted or gave a false alarm. `begins`, `ends`: how late, in cadences, the least, the
    median and the greatest; `off`: of how many one of both is more than `TOLERANCE`.
    """
    yield "| rule | planted | found | false alarms | precision | recall | begins | ends | off |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for rule in sorted(tally):
        one = tally[rule]
        alarms = one.found + one.false_alarms
        off = sum(max(map(abs, each)) > TOLERANCE for each in zip(one.begins, one.ends, strict=True))
        cells = (
            *(f"`{rule}`", one.planted, one.found, one.false_alarms),
            *(_share(one.found, alarms), _share(one.found, one.planted), _spread(one.begins), _spread(one.ends), off),
        )
        yield f"| {' | '.join(map(str, cells))} |"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"


def _spread(values: Sequence[float]) -> str:
    """Least, median and greatest."""
    return f"{min(values):.1f} / {median(values):.1f} / {max(values):.1f}" if values else "-"


def main(argv: Sequence[str]) -> int:
    """Exit code 1: a healthy group was alarmed, or a fault was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.made_groups.confusion", description=__doc__)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--faults", type=int, default=10, help="of these groups")
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(argv)
    began = time.monotonic()
    with Pool(options.workers) as pool:
        work = partial(evaluated, hours=options.hours, seed=options.seed)
        groups = list(pool.imap(work, kinds(options.groups, options.faults), chunksize=4))
    tally = tallies(groups)
    print("\n".join(table(tally)))
    wrong = [
        f"{group.name}, every {group.cadence} s, fault {group.fault}: {list(map(tuple, group.alarms))}"
        for group in groups
        if Counter(one.rule for one in group.alarms) != Counter(group.rules)
    ]
    print(*wrong, f"{len(wrong)} of {len(groups)} groups, {time.monotonic() - began:.0f} s", sep="\n", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
