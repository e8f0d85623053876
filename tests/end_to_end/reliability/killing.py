"""A command in a process group of its own, some of which is killed at a moment."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

#: Seconds until a command must have ended: by itself, or after what it needs was killed.
_ENDS = 400.0
_BEGINS = "starting Spark"


@dataclass
class Started:
    """A command, with what it says on stderr in a file."""

    process: subprocess.Popen[bytes]
    said_in: Path

    def said(self) -> str:
        return self.said_in.read_text(errors="replace")

    def wait_for(self, text: str) -> float:
        """The moment at which it says so, or has ended."""
        until = time.monotonic() + _ENDS
        while text not in self.said() and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        return time.monotonic()

    def begins(self) -> float:
        """The moment at which it starts Spark."""
        return self.wait_for(_BEGINS)

    def family(self) -> list[psutil.Process]:
        """Its processes that are alive, itself first."""
        with suppress(psutil.NoSuchProcess):
            own = psutil.Process(self.process.pid)
            return [own, *own.children(recursive=True)]
        return []

    def kill(self, victim: str) -> bool:
        """SIGKILL to the `driver`, the `jvm`, a Python `worker` (waited for), or `all`; whether there was one."""
        while self.process.poll() is None:
            family = self.family()
            found = [one for one in family if victim in ("all", _kind(one))]
            for one in found:
                with suppress(psutil.NoSuchProcess):
                    one.kill()
            if found:
                return True
            if victim != "worker":
                return False
            time.sleep(0.02)
        return False


def _kind(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        line = " ".join(process.cmdline())
        if process.name() == "java":
            return "jvm"
        if "spark_jobs.cli" in line:
            return "driver"
        if "pyspark.daemon" in line and "pyspark.daemon" in " ".join(process.parent().cmdline()):
            return "worker"
    return "other"


def users_environment() -> dict[str, str]:
    """That of this process, without what `conftest.py` sets for the Java of tests."""
    return {name: text for name, text in os.environ.items() if name != "SPARK_SUBMIT_OPTS"}


@contextmanager
def started(
    arguments: Sequence[str], folder: Path, program: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """The command; whatever is left of it is killed at the end. Its temporary files are in `scratch` of the folder."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    own = {"TMPDIR": str(scratch), **(environment or {})}
    command = [*program, sys.executable, "-m", "spark_jobs.cli", *arguments]
    said_in = folder / "said.txt"
    with said_in.open("wb") as said:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=said, env=os.environ | own, start_new_session=True
        )
    try:
        yield Started(process, said_in)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ended(found: Started, family: Sequence[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those of the family that are alive after so many seconds."""
    until = time.monotonic() + seconds
    with suppress(subprocess.TimeoutExpired):
        found.process.wait(seconds)
    return list(psutil.wait_procs(family, max(0.0, until - time.monotonic()))[1])
