"""A real Airflow with a home of its own; every command is a process, as for an operator, and ends with the tests."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

ROOT = Path(__file__).parents[3]
DAGS = ROOT / "dags"
_PROCESS_TREE = ROOT / "tests" / "support" / "process_tree.py"
#: Nothing is ever written to it; the kernel closes it when this process ends, however it does.
_ENDS_WITH_THIS_PROCESS, _HELD_OPEN = os.pipe()


@contextmanager
def started(
    *words: str, env: Mapping[str, str], cwd: Path, output: IO[Any] | int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """A command of this Python; it and all that it starts end with the block, and with this process."""
    with subprocess.Popen(
        [sys.executable, str(_PROCESS_TREE), sys.executable, *words],
        env=env,
        cwd=cwd,
        stdin=_ENDS_WITH_THIS_PROCESS,
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@dataclass(frozen=True)
class Airflow:
    """An Airflow with a home of its own, and no DAGs but ours."""

    home: Path

    def environment(self, variables: Mapping[str, str] | None = None) -> dict[str, str]:
        """What its processes find in their environment; variables are Airflow's, without their prefix."""
        own = {
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.home / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
            "REBALANCE_AUDIT_RETRY_SECONDS": "1",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        settings = {f"AIRFLOW_VAR_REBALANCE_AUDIT_{name.upper()}": value for name, value in (variables or {}).items()}
        return os.environ | own | settings

    def __call__(self, *words: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command of this Python; its outcome, with stdout and stderr together."""
        with started(*words, env=self.environment(variables), cwd=self.home, output=subprocess.PIPE) as process:
            said, _ = process.communicate(timeout=900)
        return subprocess.CompletedProcess(words, process.returncode, said)


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    home = tmp_path_factory.mktemp("airflow")
    # Dropped in, as an operator would: nothing beside them is there.
    shutil.copytree(DAGS, home / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    return Airflow(home)
