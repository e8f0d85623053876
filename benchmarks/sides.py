"""Two commits side by side: this one, and one before it, checked out in a folder of its own."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.process import PROJECT, MeasurementError
from spark_jobs.domain.model.intervals import Interval

_AUDITS = Path(__file__).with_name("audits.py")
_SAYS_WHERE = "import spark_jobs; print(spark_jobs.__file__)"


@dataclass(frozen=True)
class Side:
    """A commit by its folder; both use this process's Python and what is installed for it."""

    name: str
    root: Path = PROJECT

    def check(self) -> None:
        """Raises `MeasurementError` where another folder's `spark_jobs` would be measured."""
        answer = self._run([sys.executable, "-c", _SAYS_WHERE])
        if not Path(answer.stdout.strip() or "/").is_relative_to(self.root):
            raise MeasurementError(f"{self.root} is no commit of this project: no spark_jobs is imported from it")

    def cold(self, *arguments: str) -> float:
        """Seconds of `rebalance-audit …` as a process of its own."""
        began = time.perf_counter()
        answer = self._run([sys.executable, "-m", "spark_jobs.cli", *arguments])
        if answer.returncode not in (0, 2):  # 2: warnings
            what = f"{self.name}: rebalance-audit {arguments[0]} ended with {answer.returncode}"
            raise MeasurementError(f"{what}:\n{answer.stderr[-2000:]}")
        return time.perf_counter() - began

    @contextmanager
    def warm(self, warehouse: Path, configuration: Mapping[str, Any]) -> Iterator[Callable[[Interval], float]]:
        """A process that stays: seconds of each audit of an interval that it is asked for."""
        with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryFile("w+") as log:
            task = Path(scratch, "task.json")
            task.write_text(json.dumps({"warehouse": str(warehouse), "configuration": configuration}))
            line = [sys.executable, "-P", str(_AUDITS), str(task)]
            pipe = subprocess.PIPE
            # It ends with its stdin, which is closed at the end of the block.
            with subprocess.Popen(line, text=True, stdin=pipe, stdout=pipe, stderr=log, **self._place()) as process:
                yield lambda interval: self._audit_seconds(process, interval, log)

    def _audit_seconds(self, process: subprocess.Popen[str], interval: Interval, log: IO[str]) -> float:
        assert process.stdin
        assert process.stdout
        process.stdin.write(f"{interval}\n")
        process.stdin.flush()
        for answer in process.stdout:  # the JVM may say something, too
            if answer.startswith("took "):
                return float(answer.removeprefix("took "))
        log.seek(0)
        raise MeasurementError(f"{self.name}: an audit ended:\n" + "".join(list(log)[-15:]))

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, check=False, capture_output=True, text=True, **self._place())

    def _place(self) -> dict[str, Any]:
        """Where Python finds this side first: in the working directory of `-m`, and on its path."""
        return {"cwd": self.root, "env": os.environ | {"PYTHONPATH": str(self.root)}}
