"""Write the example files."""

import shutil
from argparse import Namespace
from pathlib import Path

from spark_jobs.cli.terminal import printable
from spark_jobs.errors import ExitCode, OutputError
from spark_jobs.installation import ROOT


def examples_command(arguments: Namespace) -> int:
    """Write the example files. Raises `OutputError` if that fails."""
    folder = Path(arguments.to)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files = [Path(shutil.copy(file, folder)) for file in sorted((ROOT / "examples").glob("[!_]*.*"))]
    except OSError as error:
        raise OutputError(f"the examples cannot be written to {folder}: {error.strerror}") from error
    print(*(printable(str(file)) for file in files), sep="\n")
    return ExitCode.CLEAN
