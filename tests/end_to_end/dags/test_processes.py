"""Whatever a test of Airflow has started ends with it, however it ends."""

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
