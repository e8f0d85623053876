"""`python -m benchmarks.event_log EVENTS`: where an audit's time goes, and how often it reads, as Spark tells it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.counts import Counts, counts

#: Jobs of threads and of Delta, which nobody gave a name.
UNNAMED = "(Delta's own)"


@dataclass
class Work:
    """What the tasks of one stage of a run did together: seconds of tasks, not of the clock; bytes; rows."""

    jobs: int = 0
    tasks: int = 0
    seconds: float = 0
    cpu: float = 0
    garbage: float = 0
    rows_read: int = 0
    shuffled: int = 0
    spilled: int = 0

    def add(self, metrics: Mapping[str, Any]) -> None:
        """Counts one task in, by its `Task Metrics`."""
        self.tasks += 1
        self.seconds += metrics["Executor Run Time"] / 1e3
        self.cpu += metrics["Executor CPU Time"] / 1e9
        self.garbage += metrics["JVM GC Time"] / 1e3
        self.rows_read += metrics["Input Metrics"]["Records Read"]
        self.shuffled += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
        self.spilled += metrics["Disk Bytes Spilled"]


def profile(events: Iterable[str]) -> dict[str, Work]:
    """The work by the name of the run's stage, in the order in which they began; `events` are the lines of a log."""
    work: dict[str, Work] = {}
    stage_names: dict[int, str] = {}
    for line in events:
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            name = event["Properties"].get("spark.job.description") or UNNAMED
            name = UNNAMED if name.startswith(("Delta: ", "$anonfun")) else name
            work.setdefault(name, Work()).jobs += 1
            for stage in event["Stage Infos"]:
                stage_names.setdefault(stage["Stage ID"], name)
        elif event["Event"] == "SparkListenerTaskEnd" and "Task Metrics" in event:
            work[stage_names[event["Stage ID"]]].add(event["Task Metrics"])
    return work


def table(work: Mapping[str, Work]) -> Table:
    """A row per stage, and their sum."""
    found = Table(
        "stage", "jobs", "tasks", "task s", "CPU s", "GC s", "million rows read", "MB shuffled", "MB spilled to disk"
    )
    for name, one in work.items():
        numbers = (one.seconds, one.cpu, one.garbage, one.rows_read / 1e6, one.shuffled / 1e6, one.spilled / 1e6)
        found.add_row(name, str(one.jobs), str(one.tasks), *(f"{number:.1f}" for number in numbers))
    return found


def counts_table(found: Counts) -> Table:
    """What the whole log has seen, a row each."""
    shown = Table("of all that was logged", "count")
    stages = f"{found.stages}, of which {found.log_stages} read Delta's logs"
    rows = {"actions": found.actions, "jobs": found.jobs, "stages": stages, "tasks": found.tasks}
    for name, count in rows.items():
        shown.add_row(name, str(count))
    for name, count in found.scans.items():
        shown.add_row(f"scans of {name}", str(count))
    return shown


def main(argv: Sequence[str]) -> int:
    """Prints what one log says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.event_log", description=__doc__)
    parser.add_argument("events", type=Path, help="a log that is not compressed (docs/performance.md says how)")
    events = parser.parse_args(argv).events.read_text(encoding="utf-8").splitlines()
    console = Console()
    console.width = max(console.width, 130)
    console.print(table(profile(events)), counts_table(counts(events)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
