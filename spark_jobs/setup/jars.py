"""The jars that set-up fetches, once, so that nothing is resolved later: Delta's, RocketMQ's admin client for
`capture`, Hadoop's S3A for a warehouse on S3.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import NamedTuple
from zipfile import is_zipfile

from spark_jobs.errors import SetupError

#: Needed only by Delta's preview connector and Unity Catalog; the Hadoop client ships with Spark.
_EXCLUDES = "io.delta:delta-kernel-*,io.unitycatalog:*,org.apache.hadoop:*"

#: What the admin client never loads: gRPC is for clients of proxies, RocksDB for stores.
_CAPTURE_EXCLUDES = "io.grpc:*,org.apache.rocketmq:rocketmq-rocksdb"


class _Package(NamedTuple):
    """What is fetched: its name in a sentence; Maven's coordinates, of it and of what it needs but must not bring; the
    file names, as Ivy makes them (`group_artifact-version.jar`), without which it is no use.
    """

    title: str
    coordinates: str
    excluded: str
    needed: Sequence[str]


def jar_names() -> tuple[str, ...]:
    """File names of the jars that belong to the installed Delta and Spark."""
    delta, spark = metadata.version("delta-spark"), metadata.version("pyspark")
    series = spark.rpartition(".")[0]
    return (f"io.delta_delta-spark_{series}_2.13-{delta}.jar", f"io.delta_delta-storage-{delta}.jar")


def check_jars(directory: Path) -> None:
    """Raises `SetupError` unless the jars of the installed Delta are in the directory."""
    if missing := [name for name in jar_names() if not (directory / name).is_file()]:
        raise SetupError(
            f"Delta's jars are not installed ({directory} has no {missing[0]}): "
            "run `rebalance-audit setup` once, with network access, or with --from FOLDER"
        )


def fetch_jars(directory: Path, source: Path | None = None) -> None:
    """Put Delta's jars into the directory: all of them or none. They come from the folder `source`, else from Maven
    Central, checksums verified.

    Does nothing if they are there. Raises `SetupError` if they cannot be had.
    """
    if all((directory / name).is_file() for name in jar_names()):
        return
    delta_jar = jar_names()[0].removesuffix(".jar").removeprefix("io.delta_")
    artifact, _, version = delta_jar.rpartition("-")
    package = _Package("Delta's jars", f"io.delta:{artifact}:{version}", _EXCLUDES, jar_names())
    with _replaced(package, directory, source) as jars:
        for other in {file.name for file in jars.iterdir()} - {*jar_names()}:
            (jars / other).unlink()


def fetch_tools(directory: Path, version: str, source: Path | None = None) -> None:
    """Put RocketMQ's admin client of the version, and what it needs, into the directory, in place of what was there.

    Does nothing if it is there. Raises `SetupError` if it cannot be had.
    """
    name = f"org.apache.rocketmq_rocketmq-tools-{version}.jar"
    if (directory / name).is_file():
        return
    coordinates = f"org.apache.rocketmq:rocketmq-tools:{version}"
    package = _Package("RocketMQ's admin client", coordinates, _CAPTURE_EXCLUDES, (name,))
    with _replaced(package, directory, source):
        pass  # all that it needs lies beside it


def fetch_s3(directory: Path, delta: Path, source: Path | None = None) -> None:
    """Put Hadoop's S3A, and the log store that goes with it, into the directory, in place of what was there; `delta` is
    the folder of Delta's jars.

    Does nothing if they are there. Raises `SetupError` if they cannot be had.
    """
    from spark_jobs.store.s3 import s3a as s3  # imports pyspark, which `capture` does not need

    if directory / s3.module_jar() in s3.installed(directory):
        return
    check_jars(delta)
    package = _Package("Hadoop's S3A", s3.packages(), s3.EXCLUDES, (s3.module_jar(),))
    with _replaced(package, directory, source) as jars:
        s3.compile_log_store(jars, delta)


@contextmanager
def _replaced(package: _Package, directory: Path, source: Path | None) -> Iterator[Path]:
    """A folder with the jars of the package and what they need, which takes the directory's place at the end."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".jars-") as scratch:
        jars = Path(scratch, "jars")
        if source is None:
            _download(package, jars)
        else:
            _copy(package, source / directory.name if (source / directory.name).is_dir() else source, jars)
        yield jars
        shutil.rmtree(directory, ignore_errors=True)
        jars.rename(directory)


def _copy(package: _Package, source: Path, jars: Path) -> None:
    """Copies all jars of a folder; in it those that are needed may have Maven's names, without their group."""
    jars.mkdir()
    for file in source.glob("*.jar"):
        shutil.copyfile(file, jars / file.name)
    for name in package.needed:
        mavens = jars / name.partition("_")[2]
        if mavens.is_file():
            mavens.rename(jars / name)
        if not is_zipfile(jars / name):
            raise SetupError(
                f"{package.title} cannot be copied, nothing was changed: {source} lacks {mavens.name}, or a part of it"
            )


def _download(package: _Package, jars: Path) -> None:
    """Spark's own Ivy downloads into the folder `jars`, as spark-defaults.conf and its ivysettings say."""
    nothing = jars.with_name("nothing.py")
    nothing.touch()
    home = Path(str(metadata.distribution("pyspark").locate_file("pyspark")))
    command = [str(home / "bin" / "spark-submit"), "--master", "local[1]"]
    command += ["--packages", package.coordinates, "--exclude-packages", package.excluded]
    command += ["--conf", f"spark.jars.ivy={jars.parent}", str(nothing)]
    environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    answer = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if answer.returncode or any(not (jars / name).is_file() for name in package.needed):
        raise SetupError(
            f"{package.title} could not be downloaded, nothing was changed: {_reason(answer.stderr)}. "
            "Is there network, and (behind a proxy) is spark.jars.ivySettings set in spark-defaults.conf?"
        )


def _reason(log: str) -> str:
    """The line of spark-submit's output that tells most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"not found|Exception|Error|denied|No space", line)]
    return (telling or lines or ["nothing"])[-1][:300].rstrip(".")
