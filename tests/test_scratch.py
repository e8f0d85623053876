"""Java's temporary files go with the process that started it, however that ended."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from spark_jobs.runtime.scratch import temporary_files_in

_SCRIPT = """
import os, signal, sys, tempfile
from spark_jobs.runtime.scratch import scratch_folder, temporary_files_in
folder = scratch_folder()
(folder / "blockmgr").mkdir()
with temporary_files_in(folder):
    tempfile.mkdtemp()
    print(folder, flush=True)
    if "die" in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.read()
"""


def begun(folder: Path, *arguments: str) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"TMPDIR": str(folder)},
        cwd=Path(__file__).parents[1],
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_next_one_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    living, kept = begun(tmp_path)
    killed, left = begun(tmp_path, "die")
    assert killed.wait(10) == -9
    assert (left / "blockmgr").is_dir()
    third, own = begun(tmp_path)
    assert sorted(path for path in tmp_path.iterdir() if path.is_dir()) == sorted([kept, own])
    for process in (living, third):
        process.communicate("")


def test_temporary_files_are_there_only_meanwhile(tmp_path: Path) -> None:
    usual = tempfile.gettempdir()
    with temporary_files_in(tmp_path):
        assert Path(tempfile.mkdtemp()).parent == tmp_path
    assert tempfile.gettempdir() == usual
