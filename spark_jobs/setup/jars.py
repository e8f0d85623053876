"""Jars that set-up fetches once: Delta's, RocketMQ's admin client, Hadoop's S3A."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from zipfile import is_zipfile

from spark_jobs.capture.jars import ROCKETMQ
from spark_jobs.errors import SetupError
from spark_jobs.setup.download import Package, download

Say = Callable[[str], object]

#: The version that setup.cfg asks for: not every version of the Python package has jars.
DELTA = "4.4.0"
#: Needed only by Delta's preview connector and Unity Catalog; the Hadoop client ships with Spark.
_EXCLUDES = "io.delta:delta-kernel-*,io.unitycatalog:*,org.apache.hadoop:*"

#: What the admin client never loads: gRPC is for clients of proxies, RocksDB for stores.
_CAPTURE_EXCLUDES = "io.grpc:*,org.apache.rocketmq:rocketmq-rocksdb"


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


def fetch_jars(directory: Path, source: Path | None = None, say: Say = print) -> None:
    """Put all of Delta's jars, from `source` or Maven Central, into the directory if missing. Raises `SetupError`."""
    if all((directory / name).is_file() for name in jar_names()):
        return
    delta_jar = jar_names()[0].removesuffix(".jar").removeprefix("io.delta_")
    artifact, _, version = delta_jar.rpartition("-")
    instead = (
        f"Install the version that rebalance-audit needs (pip install delta-spark=={DELTA}), and run the command again"
    )
    package = Package("Delta's jars", f"io.delta:{artifact}:{version}", _EXCLUDES, jar_names(), instead)
    with _replaced(package, directory, source, say) as jars:
        for other in {file.name for file in jars.iterdir()} - {*jar_names()}:
            (jars / other).unlink()


def fetch_tools(directory: Path, version: str, source: Path | None = None, say: Say = print) -> None:
    """Replace the directory by RocketMQ's admin client of that version, if it differs. Raises `SetupError`."""
    name = f"org.apache.rocketmq_rocketmq-tools-{version}.jar"
    if (directory / name).is_file():
        return
    coordinates = f"org.apache.rocketmq:rocketmq-tools:{version}"
    instead = f"Choose another version: `rebalance-audit setup --capture` fetches {ROCKETMQ}"
    package = Package("RocketMQ's admin client", coordinates, _CAPTURE_EXCLUDES, (name,), instead)
    with _replaced(package, directory, source, say):
        pass  # all that it needs is in the same directory


def fetch_s3(directory: Path, delta: Path, source: Path | None = None, say: Say = print) -> None:
    """Replace the directory by Hadoop's S3A and its log store, if missing; `delta`: its jars. Raises `SetupError`."""
    from spark_jobs.store.s3 import s3a as s3  # imports pyspark, which `capture` does not need

    if directory / s3.module_jar() in s3.installed(directory):
        return
    check_jars(delta)
    instead = f"Install another pyspark: {metadata.version('pyspark')} needs Hadoop {s3.hadoop_version()}"
    package = Package("Hadoop's S3A", s3.packages(), s3.EXCLUDES, (s3.module_jar(),), instead)
    with _replaced(package, directory, source, say) as jars:
        s3.compile_log_store(jars, delta)


@contextmanager
def _replaced(package: Package, directory: Path, source: Path | None, say: Say) -> Iterator[Path]:
    """A folder with the jars of the package and what they need, which takes the directory's place at the end."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".jars-") as scratch:
        jars = Path(scratch, "jars")
        if source is None:
            download(package, jars, directory.with_name(f".{directory.name}-download"), say)
        else:
            _copy(package, source / directory.name if (source / directory.name).is_dir() else source, jars)
        yield jars
        shutil.rmtree(directory, ignore_errors=True)
        jars.rename(directory)


def _copy(package: Package, source: Path, jars: Path) -> None:
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
