"""An audit on a cluster whose workers' Python has what docs/cluster.md lists, and nothing of this project."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from zipfile import ZipFile

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.standalone import submit, two_workers
from schemas import AUDIT_RUNS
from spark_jobs.runtime.executors import ship_modules, write_modules
from spark_jobs.store.warehouse import Warehouse
from spark_jobs.submit import main
from tests.support.times import HOUR

ROOT = Path(__file__).parents[3]
SITE = Path(np.__file__).parents[1]


def listed() -> set[str]:
    """The modules that docs/cluster.md says a Python worker imports."""
    page = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
    (rows,) = re.findall(r"\| package \| its modules .*\n\|[-|]+\n((?:\|.*\n)+)", page)
    return {name for row in rows.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[2])}


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python without site-packages, but for links to what is listed; its starts are written down in `starts`."""
    packages = tmp_path / "packages"
    packages.mkdir()
    for name in listed():
        for path in (SITE / name, SITE / f"{name}.py", SITE / f"{name}.libs"):
            if path.exists():
                (packages / path.name).symlink_to(path)
    wrapper = tmp_path / "python"
    wrapper.write_text(
        "#!/bin/sh\n"
        f'echo "$PWD" >> {tmp_path}/starts\n'
        f'PYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n'
    )
    wrapper.chmod(0o755)
    return wrapper


@pytest.mark.slow
def test_workers_that_lack_the_project_find_what_a_local_run_finds(
    spark: SparkSession, copied: Warehouse, python: Path, tmp_path: Path
) -> None:
    elsewhere = os.environ | {"PYTHONPATH": ""}
    for package, missing in (("numpy", False), ("spark_jobs", True), ("yaml", True)):
        command = [str(python), "-c", f"import {package}"]
        answer = subprocess.run(command, check=False, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
        assert (f"No module named '{package}'" in answer.stderr, answer.returncode) == (missing, int(missing))
    (tmp_path / "starts").unlink()
    settings = {
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.pyspark.python": str(python),
        "spark.pyspark.driver.python": sys.executable,
    }
    with two_workers() as master:
        command = submit(master, settings, str(main.__file__))
        command += ["run", "--warehouse", copied.location, "--interval", str(HOUR), "--fail-on", "never"]
        ended = subprocess.run(command, check=False, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert (tmp_path / "starts").read_text()
    local, spread = copied.read(spark, AUDIT_RUNS).orderBy("started_at").collect()
    assert (spread.outcome, spread.row_counts["findings"]) == ("published", 4)
    assert spread.content_hashes == local.content_hashes


def test_the_same_modules_make_the_same_zip(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        write_modules(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    names = ZipFile(tmp_path / "a.zip").namelist()
    assert {"spark_jobs/__init__.py", "spark_jobs/pipeline/gather/evaluated.py", "schemas/table.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)


def test_every_module_is_imported_from_the_zip(tmp_path: Path) -> None:
    """A module that reads a file beside it when it is imported is none for executors."""
    shipped = tmp_path / "modules.zip"
    write_modules(shipped)
    names = [name.removesuffix(".py").replace("/", ".") for name in ZipFile(shipped).namelist()]
    modules = [name.removesuffix(".__init__") for name in names if not name.endswith(".__main__")]
    program = (
        f"import importlib, sys; sys.path.insert(0, {str(shipped)!r})\n"
        f"found = [importlib.import_module(name).__file__ for name in {modules}]\n"
        f"sys.exit(not all(file.startswith({str(shipped)!r}) for file in found))"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.mark.parametrize(
    ("master", "shipped"),
    [
        *((master, 0) for master in ("local", "local[*]", "local[2,3]")),
        *((master, 1) for master in ("local-cluster[2,1,1024]", "spark://host:7077", "yarn", "k8s://https://host")),
    ],
)
def test_modules_are_shipped_to_processes_elsewhere_only(master: str, shipped: int) -> None:
    files: list[Any] = []
    context = SimpleNamespace(master=master, addPyFile=files.append)
    ship_modules(cast(SparkSession, SimpleNamespace(sparkContext=context)))
    assert [Path(file).name for file in files] == ["rebalance-audit-modules.zip"] * shipped
