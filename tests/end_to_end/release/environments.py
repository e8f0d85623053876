"""Fresh virtual environments, and what is installed into them: nothing of the checkout is on their path."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")
#: A network of its own, with the loopback interface and nothing else: Python talks to Java there.
ALONE = ("unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
#: Of this process, not of a user: the path to the checkout, settings of the audit.
_NOT_INHERITED = ("PYTHON", "REBALANCE_AUDIT_", "VIRTUAL_ENV", "AIRFLOW")


def uv(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What uv, of the checkout's environment, did and said; stdout and stderr together."""
    command = [str(UV), *words]
    return subprocess.run(command, check=False, cwd=cwd, env=_inherited(), stdout=PIPE, stderr=STDOUT, text=True)


def must(done: subprocess.CompletedProcess[str], code: int = 0) -> str:
    """What a command said that ended with this exit code."""
    assert done.returncode == code, done.stdout
    return done.stdout


def clean_copy(folder: Path) -> Path:
    """The files of the checkout that git knows, or would add, in this new folder: a clean clone of what is there."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, check=True, cwd=ROOT, capture_output=True, text=True).stdout
    for name in names.strip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


@dataclass(frozen=True)
class Environment:
    """A virtual environment; its commands run in the folder `here` beside it, which is empty at first."""

    folder: Path

    @property
    def here(self) -> Path:
        return self.folder.with_name("here")

    @property
    def packages(self) -> Path:
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def install(self, *requirements: str) -> None:
        """With the versions of the lock."""
        lock = str(ROOT / "requirements.lock")
        must(uv("pip", "install", "--python", str(self.folder), "--constraint", lock, *requirements))

    def __call__(self, command: str, *words: str, before: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Runs a command of the environment; `before` is a command that starts it, such as `unshare`."""
        own = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.here.parent / "cache")}
        line = [*before, command, *words]
        return subprocess.run(
            line, check=False, cwd=self.here, env=_inherited() | own, stdout=PIPE, stderr=STDOUT, text=True, timeout=900
        )


def environment(folder: Path, python: str = sys.executable) -> Environment:
    """A new one below the folder. Raises `LookupError`, with what uv says, where there is no such Python."""
    made = Environment(folder / "environment")
    done = uv("venv", "--python", python, str(made.folder))
    if done.returncode:
        raise LookupError(done.stdout)
    made.here.mkdir()
    return made


def _inherited() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INHERITED)}
