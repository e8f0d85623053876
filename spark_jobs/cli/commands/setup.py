"""Fetch what an installation needs besides Python packages."""

import os
import shutil
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from spark_jobs.capture.jars import TOOLS_DIR
from spark_jobs.cli.terminal import printable, progress_on
from spark_jobs.errors import ExitCode
from spark_jobs.installation import places
from spark_jobs.setup.jars import fetch_jars, fetch_s3, fetch_tools
from spark_jobs.setup.java import check_java


def setup_command(arguments: Namespace) -> int:
    """Exit code 0 where everything was fetched, or was there already."""
    if not arguments.remove:
        check_java()
        with progress_on() as say:
            return _fetch(arguments, say)
    for place in places():  # as far as it is this user's: pip does not know of it
        if place.exists() and os.access(place, os.W_OK):
            shutil.rmtree(place)
            _print_place("removed", place)
    return ExitCode.CLEAN


def _fetch(arguments: Namespace, say: Callable[[str], object]) -> int:
    folder = getattr(arguments, "from")
    source = Path(folder) if folder else None
    if arguments.capture:
        fetch_tools(TOOLS_DIR, arguments.capture, source, say)
        return _print_place("RocketMQ's admin client is in", TOOLS_DIR)
    # They import pyspark, which `capture` does not need.
    from spark_jobs.runtime.session import ARCHIVE, JARS_DIR
    from spark_jobs.setup.class_archive import make_archive
    from spark_jobs.store.s3.s3a import S3_DIR

    if arguments.s3:
        fetch_s3(S3_DIR, JARS_DIR, source, say)
        return _print_place("Hadoop's S3A is in", S3_DIR)
    fetch_jars(JARS_DIR, source, say)
    say("preparing Java's classes")
    make_archive(ARCHIVE)
    return _print_place("Delta's jars are in", JARS_DIR)


def _print_place(sentence: str, place: Path) -> int:
    print(sentence, printable(str(place)))
    return ExitCode.CLEAN
