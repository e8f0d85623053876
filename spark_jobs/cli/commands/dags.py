"""Write the DAG files."""

import shutil
from argparse import Namespace
from pathlib import Path

from spark_jobs.cli.terminal import printable
from spark_jobs.errors import ExitCode, OutputError
from spark_jobs.installation import ROOT


def dags_command(arguments: Namespace) -> int:
    """Raises `OutputError` where the files cannot be written."""
    try:
        files = _copy_dags(Path(arguments.to))
    except OSError as error:
        raise OutputError(f"the DAGs cannot be written to {arguments.to}: {error.strerror}") from error
    print(*(printable(str(file)) for file in files), sep="\n")
    return ExitCode.CLEAN


def _copy_dags(folder: Path) -> list[Path]:
    """Copy the DAG files into the folder, and add what Airflow must ignore to its .airflowignore. The files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [Path(shutil.copy(file, folder)) for file in sorted((ROOT / "dags").glob("*.py"))]
    ignored = folder / ".airflowignore"
    lines = ignored.read_text(encoding="utf-8").splitlines() if ignored.is_file() else []
    lines += (ROOT / "dags" / ignored.name).read_text(encoding="utf-8").splitlines()
    ignored.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)), encoding="utf-8")
    return [*files, ignored]
