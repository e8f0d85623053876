"""The DAG files, for the folder of an Airflow."""

from __future__ import annotations

import shutil
from pathlib import Path

from spark_jobs.installation import ROOT

_IGNORE = ".airflowignore"


def copy_dags(folder: Path) -> list[Path]:
    """Put the DAG files into the folder, in place of older ones, and what Airflow is to ignore of them into its
    .airflowignore, which keeps its other lines; the files. Raises `OSError` where they cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [Path(shutil.copy(file, folder)) for file in sorted((ROOT / "dags").glob("*.py"))]
    ignored = folder / _IGNORE
    there = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    ours = (ROOT / "dags" / _IGNORE).read_text(encoding="utf-8").splitlines()
    ignored.write_text("".join(f"{line}\n" for line in dict.fromkeys([*there, *ours])), encoding="utf-8")
    return [*files, ignored]
