"""Java's temporary files go with the process that started it, however that ended."""

import os
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
        cwd=Path(__file__).parents[2],
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


def test_lock_files_of_others_are_not_opened(tmp_path: Path) -> None:
    target, link = tmp_path / "precious", tmp_path / "rebalance-audit-java-0.lock"
    target.write_text("kept", encoding="utf-8")
    link.symlink_to(target)
    foreign = tmp_path / "rebalance-audit-java-1.lock"
    foreign.write_text("", encoding="utf-8")
    if os.getuid() == 0:  # only root can give a file away
        os.chown(foreign, 12345, 12345)
    process, _ = begun(tmp_path)
    process.communicate("")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "kept"
    assert foreign.exists() == (os.getuid() == 0)


def test_temporary_files_are_there_only_meanwhile(tmp_path: Path) -> None:
    usual = tempfile.gettempdir()
    with temporary_files_in(tmp_path):
        assert Path(tempfile.mkdtemp()).parent == tmp_path
    assert tempfile.gettempdir() == usual
