"""A few minutes of two groups of the recording, and the commands on them, each a process as a user starts it."""

import gzip
import json
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from schemas import AUDIT_RUNS, OUTPUTS
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables

GROUPS = ("payment-service", "inventory-service")
TOPICS = ("payments", "inventory", *(f"%RETRY%{group}" for group in GROUPS))
#: Exit codes of a command that has audited: clean, findings, warnings.
AUDITED = (0, 1, 2)
#: Steps of a minute; the recording begins at 02:02:26.
CONFIGURATION = "step_seconds: 60\ncadence_seconds: 10\n"


def steps(first: int, last: int) -> list[str]:
    """The options of an audit from minute to minute."""
    return ["--interval", f"2026-11-21T02:{first:02d}/2026-11-21T02:{last:02d}", "--config", "c.yaml"]


WHOLE = steps(3, 5)


def write_inputs(folder: Path) -> None:
    """The recording in two parts, the second of which comes late, and the configuration."""
    write_recording(folder / "first.jsonl", 130)
    write_recording(folder / "all.jsonl", 220)
    (folder / "c.yaml").write_text(CONFIGURATION)


def write_recording(file: Path, seconds: int) -> None:
    """The groups' lines of so many first seconds."""
    begun = 0
    with gzip.open("examples/recording.jsonl.gz", "rt") as lines, file.open("w") as out:
        for text in lines:
            line = json.loads(text)
            begun = begun or line.get("at", 0)
            of_them = line.get("group") in GROUPS if "group" in line else line.get("topic", TOPICS[0]) in TOPICS
            if of_them and line.get("at", 0) <= begun + 1000 * seconds:
                out.write(text)


def published(location: str) -> dict[str, list[dict[str, object]]]:
    """The rows of every output table, in one order."""
    tables, found = DeltaTables(Location.parse(location)), {}
    for table in OUTPUTS:
        rows = tables.read(table, table.columns).to_pylist() if tables.exists(table) else []
        found[table.name] = sorted(rows, key=repr)
    return found


def outcomes(location: str) -> list[str]:
    """Of all runs that `audit_runs` knows."""
    tables = DeltaTables(Location.parse(location))
    return [str(row["outcome"]) for row in tables.read(AUDIT_RUNS, ["outcome"]).to_pylist()]


@dataclass
class Commands:
    """Runs commands in a folder on one warehouse, and keeps all that they print."""

    folder: Path
    warehouse: str
    environment: Mapping[str, str]
    printed: list[str] = field(default_factory=list)

    def start(self, command: str, *arguments: str) -> subprocess.Popen[str]:
        """One that is under way."""
        whole = [sys.executable, "-m", "spark_jobs.cli", command, "--warehouse", self.warehouse, *arguments]
        environment = {**self.environment, "PYTHONPATH": str(Path.cwd())}
        return subprocess.Popen(
            whole, cwd=self.folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def end(self, started: subprocess.Popen[str]) -> tuple[int, str]:
        """Its exit code and what it printed."""
        try:
            printed, _ = started.communicate(timeout=900)
        except BaseException:
            started.kill()
            raise
        self.printed.append(printed)
        return started.returncode, printed

    def __call__(self, command: str, *arguments: str, codes: Collection[int] = (0,)) -> str:
        """The output of a command that is awaited, and ends with one of these exit codes."""
        begun = time.monotonic()
        code, printed = self.end(self.start(command, *arguments))
        print(f"{command}: {time.monotonic() - begun:.0f} s, exit code {code}")
        assert code in codes, printed
        return printed


def late_and_shown(there: Commands, local: Commands, files: str) -> None:
    """Audits snapshots that come late; rows and what commands show are those of the local warehouse."""
    for at in (local, there):
        at("ingest", "all.jsonl")
        at("late", *WHOLE, codes=AUDITED)
    assert published(files) == published(local.warehouse)
    for command in ("status", "incidents"):
        shown, expected = (at(command, "--json", codes=AUDITED) for at in (there, local))
        assert shown[shown.index("{") :] == expected[expected.index("{") :]
    there("report", *WHOLE[:2], "--out", "report.html")
