"""Whether a small cluster costs more than one process: a master and two workers, all on this machine."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pyspark

from benchmarks import worker
from benchmarks.bench import Bench
from benchmarks.measure import Taken
from benchmarks.process import MeasurementError
from spark_jobs.session import JARS_DIR

_HOME = Path(pyspark.__file__).parent
_HOST = "127.0.0.1"
_WAIT_SECONDS = 60
#: What `docs/cluster.md` leaves to who submits.
_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.host": _HOST,
    "spark.executor.memory": "1500m",
    "spark.pyspark.python": sys.executable,
    "spark.pyspark.driver.python": sys.executable,
    "spark.ui.enabled": "false",
}


def workers_by_local(bench: Bench) -> Taken:
    """A run on two standalone workers of one core ÷ in `local[2]`; a fifth of the whole fleet's groups."""
    name = bench.size(0.2)
    bench.make({name: replace(bench.whole, groups=bench.groups(0.2))})
    target = bench.target(name)
    bench.say("auditing in one process")
    (local,) = bench.seconds("audit", [target])
    with _cluster() as master:
        bench.say("auditing on two workers")
        (spread,) = bench.seconds("audit", [target], command=_submit(master))
    return Taken(spread / local, f"{spread:.1f} s ÷ {local:.1f} s, {bench.groups(0.2)} groups")


def _submit(master: str) -> list[str]:
    """How a task is given to the cluster."""
    jars = ",".join(map(str, sorted(JARS_DIR.glob("*.jar"))))
    settings = [word for key, value in _SETTINGS.items() for word in ("--conf", f"{key}={value}")]
    return [str(_HOME / "bin" / "spark-submit"), "--master", master, "--jars", jars, *settings, str(worker.__file__)]


@contextmanager
def _cluster() -> Iterator[str]:
    """The URL of a master that has two workers of one core each; all are ended afterwards."""
    with closing(socket.socket()) as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    url = f"spark://{_HOST}:{port}"
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as started:
        common = ("--host", _HOST, "--webui-port", "0")
        started.enter_context(_daemon("master.Master", *common, "--port", str(port)))
        _wait_for(port)
        for number in range(2):
            folder = str(Path(scratch, str(number)))
            started.enter_context(_daemon("worker.Worker", *common, "-c", "1", "-m", "2g", "-d", folder, url))
        yield url


@contextmanager
def _daemon(name: str, *arguments: str) -> Iterator[None]:
    command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    """Until somebody listens there; raises `MeasurementError` if nobody does for a minute."""
    for _ in range(_WAIT_SECONDS):
        with closing(socket.socket()) as probe:
            if probe.connect_ex((_HOST, port)) == 0:
                return
        time.sleep(1)
    raise MeasurementError(f"Spark's master did not start within {_WAIT_SECONDS} s")
