"""Audits in somebody's session: it stays as it was, the results are the same, and what is missing is said first."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

_ZONE = "America/New_York"


def in_its_own_process(task: str, folder: Path) -> dict[str, Any]:
    """The output of `tests.spark.session.somebody`."""
    without = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK_DIST"))}
    environment = without | {"TZ": _ZONE, "PYSPARK_PYTHON": sys.executable} if task == "audit" else without
    command = [sys.executable, "-m", "tests.spark.session.somebody", task, str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    document: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return document


@pytest.mark.slow
def test_runs_leave_the_session_as_it_was_and_publish_what_every_run_does(tmp_path: Path) -> None:
    """Two threads, another zone in the process and in the session, settings that change what queries mean, and a
    temporary view that is called like a table; then a schema of the catalog.
    """
    seen = in_its_own_process("audit", tmp_path)
    before, after = seen["before"], seen["after"]
    assert before == after
    assert (before["is_active"], before["again"], before["to_df"], before["zone"][0]) == (True, True, True, _ZONE)
    assert before["tables"] == [["membership_snapshots", True], ["orders", False]]
    assert [finding for finding in seen["findings"] if finding[0] == "DUPLICATE_CLIENT_ID"] == [
        ["DUPLICATE_CLIENT_ID", "2026-03-01 10:00:00", "2026-03-01 11:00:00"],
        ["DUPLICATE_CLIENT_ID", "2026-03-01 11:00:00", "2026-03-01 12:00:00"],
    ]
    of_folder, of_schema = seen["hashes"]
    assert of_folder == of_schema
    assert seen["steps"] == ["2026-03-01 10:00:00+00:00"]


def test_what_a_session_lacks_is_said_in_a_sentence(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    said = in_its_own_process("lacking", tmp_path)
    assert said["Delta"].startswith("SetupError: the Spark session that was given lacks Delta: start it with spark.sql")
    assert said["stopped"] == "SetupError: the Spark session that was given is stopped: give one that runs"
    assert said["Python"].startswith("SetupError: Spark's executors cannot run Python for an audit: ")
    assert 'Cannot run program "/nowhere/python"; set PYSPARK_PYTHON' in said["Python"]
    assert f"Spark's executors, {tmp_path}/bare/bin/python, lacks numpy" in said["packages"]
    assert "No module named 'numpy'" in said["packages"]


@pytest.mark.slow
def test_spark_connect_cannot_audit_and_says_so(tmp_path: Path) -> None:
    said = in_its_own_process("connect", tmp_path)
    assert {text.partition(",")[0] for text in said.values()} == {"SetupError: Spark Connect cannot audit"}
