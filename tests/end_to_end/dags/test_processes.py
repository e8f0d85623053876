"""Whatever a test of Airflow has started ends with it, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.end_to_end.dags.conftest import ROOT, started
from tests.end_to_end.dags.running import until

#: Starts one that leaves its session and its parent, as daemons do, and one that takes no notice of SIGTERM.
_STARTS_OTHERS = """
import os, signal, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.wait()
print("ready", flush=True)
time.sleep(600)
"""
_STARTER = f"""
import os, time
from pathlib import Path
from tests.end_to_end.dags.conftest import started
with started("-c", '''{_STARTS_OTHERS}''', env=os.environ, cwd=Path.cwd()) as process:
    print(process.stdout.readline(), flush=True)
    time.sleep(600)
"""


def test_what_a_command_started_ends_with_the_block(tmp_path: Path) -> None:
    with started("-c", _STARTS_OTHERS, env=os.environ, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(below) == 2
    assert [one for one in below if _is_alive(one)] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_a_command_started_ends_with_its_starter(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-c", _STARTER]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as starter:
        assert starter.stdout is not None
        starter.stdout.readline()
        _end(starter, number, at_least=3)


@pytest.mark.airflow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_airflow_and_its_spark_end_with_pytest(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "airflow"]
    command += [str(ROOT / "tests" / "end_to_end" / "dags" / "holding.py"), f"--basetemp={tmp_path / 'pytest'}"]
    holds = tmp_path / "holds"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOLDS": str(holds)}
    with (
        (tmp_path / "pytest.log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment) as held,
    ):
        try:
            until(lambda: holds.exists() or held.poll() is not None)
            assert held.poll() is None, (tmp_path / "pytest.log").read_text()[-5000:]
            _end(held, number, at_least=12)
        finally:
            held.kill()


def _end(starter: subprocess.Popen[bytes], number: signal.Signals, at_least: int) -> None:
    """Sends the signal; at least so many processes were below the starter, and none of them stays."""
    below = psutil.Process(starter.pid).children(recursive=True)
    assert len(below) >= at_least, below
    starter.send_signal(number)
    starter.wait(30)
    until(lambda: not any(map(_is_alive, below)), 30, every=0.1)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
