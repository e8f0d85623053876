"""A real Airflow with a home of its own; every command is a process, as for an operator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DAGS = ROOT / "dags"

#: Runs a command with the variables given besides; its outcome, with stdout and stderr together.
Airflow = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    home = tmp_path_factory.mktemp("airflow")
    # Dropped in, as an operator would: nothing beside them is there.
    shutil.copytree(DAGS, home / "dags", ignore=shutil.ignore_patterns("__pycache__"))
    own = {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "REBALANCE_AUDIT_RETRY_SECONDS": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }

    def command(*words: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        settings = {f"AIRFLOW_VAR_REBALANCE_AUDIT_{name.upper()}": value for name, value in (variables or {}).items()}
        return subprocess.run(
            [sys.executable, *words],
            env=os.environ | own | settings,
            cwd=home,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )

    return command
