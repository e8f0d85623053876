"""A standalone cluster of pip's Spark on this machine: a master and two workers of one core each."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pyspark

from benchmarks.process import MeasurementError
from spark_jobs.runtime.session import JARS_DIR

_HOME = Path(pyspark.__file__).parent
_HOST = "127.0.0.1"
_WAIT_SECONDS = 60


def submit(master: str, settings: Mapping[str, str], script: str) -> list[str]:
    """The start of a command that gives a script to the cluster; the script's arguments follow."""
    jars = ",".join(map(str, sorted(JARS_DIR.glob("*.jar"))))
    here = {"spark.driver.host": _HOST, "spark.ui.enabled": "false"}
    words = [word for key, value in {**here, **settings}.items() for word in ("--conf", f"{key}={value}")]
    return [str(_HOME / "bin" / "spark-submit"), "--master", master, "--jars", jars, *words, script]


@contextmanager
def two_workers() -> Iterator[str]:
    """The URL of the master; all three are ended afterwards. No worker sees the PYTHONPATH of this process."""
    with closing(socket.socket()) as probe:
        probe.bind((_HOST, 0))
        port = probe.getsockname()[1]
    url = f"spark://{_HOST}:{port}"
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as started:
        common = ("--host", _HOST, "--webui-port", "0")
        started.enter_context(_daemon(scratch, "master.Master", *common, "--port", str(port)))
        _wait_for(port)
        for number in range(2):
            folder = str(Path(scratch, str(number)))
            started.enter_context(_daemon(scratch, "worker.Worker", *common, "-c", "1", "-m", "2g", "-d", folder, url))
        yield url


@contextmanager
def _daemon(folder: str, name: str, *arguments: str) -> Iterator[None]:
    command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd=folder, env=environment) as process:
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
