"""Set-up: is Java there, and are Delta's jars? Fetches them and archives classes, once; nothing is resolved later.

With --capture it fetches RocketMQ's admin client instead, which only `rebalance-audit capture` needs; with --s3 what
only a warehouse on S3 needs.
"""

from __future__ import annotations

import argparse
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

from spark_jobs.capture.jars import TOOLS_DIR
from spark_jobs.errors import RebalanceAuditError, SetupError

JAVA_VERSIONS = (17, 21)

#: Needed only by Delta's preview connector and Unity Catalog; the Hadoop client ships with Spark.
_EXCLUDES = "io.delta:delta-kernel-*,io.unitycatalog:*,org.apache.hadoop:*"

#: The version of RocketMQ's admin client that is fetched unless another one is asked for.
ROCKETMQ = "5.4.0"
#: What the admin client never loads: gRPC is for clients of proxies, RocksDB for stores.
_CAPTURE_EXCLUDES = "io.grpc:*,org.apache.rocketmq:rocketmq-rocksdb"


def check_java() -> None:
    """Raises `SetupError` unless the Java that Spark will start is one it supports (JAVA_HOME, else PATH)."""
    wanted = f"install Java {' or '.join(map(str, JAVA_VERSIONS))} (any OpenJDK), or point JAVA_HOME at one"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        answer = subprocess.run([java, "-version"], check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise SetupError(f"no Java {where}: {wanted}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if not version or int(version[1]) not in JAVA_VERSIONS:
        found = f"is version {version[1]}" if version else "does not tell its version"
        raise SetupError(f"{shutil.which(java) or java} {found}: {wanted}")


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
            f"run `{sys.executable} -m spark_jobs.setup.jars` once, with network"
        )


def fetch_jars(directory: Path) -> None:
    """Put Delta's jars, checksums verified, into the directory: all of them or none.

    Does nothing if they are there. Raises `SetupError` if they cannot be had.
    """
    if all((directory / name).is_file() for name in jar_names()):
        return
    delta_jar = jar_names()[0].removesuffix(".jar").removeprefix("io.delta_")
    artifact, _, version = delta_jar.rpartition("-")
    with _resolved(directory, f"io.delta:{artifact}:{version}", _EXCLUDES, jar_names(), "Delta's jars") as jars:
        complete = jars.with_name("complete")
        complete.mkdir()
        for name in jar_names():
            (jars / name).rename(complete / name)
        _replace(directory, complete)


def fetch_tools(directory: Path, version: str) -> None:
    """Put RocketMQ's admin client of the version, and what it needs, into the directory, in place of what was there.

    Does nothing if it is there. Raises `SetupError` if it cannot be had.
    """
    name = f"org.apache.rocketmq_rocketmq-tools-{version}.jar"
    if (directory / name).is_file():
        return
    package = f"org.apache.rocketmq:rocketmq-tools:{version}"
    with _resolved(directory, package, _CAPTURE_EXCLUDES, (name,), "RocketMQ's admin client") as jars:
        _replace(directory, jars)


def fetch_s3(directory: Path, delta: Path) -> None:
    """Put Hadoop's S3A, and the log store that goes with it, into the directory, in place of what was there; `delta` is
    the folder of Delta's jars.

    Does nothing if they are there. Raises `SetupError` if they cannot be had.
    """
    from spark_jobs.store.s3 import jars as s3  # imports pyspark, which the check of Java must not need

    if directory / s3.module_jar() in s3.installed(directory):
        return
    check_jars(delta)
    with _resolved(directory, s3.packages(), s3.EXCLUDES, (s3.module_jar(),), "Hadoop's S3A") as jars:
        s3.compile_log_store(jars, delta)
        _replace(directory, jars)


def _replace(directory: Path, complete: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
    complete.rename(directory)


@contextmanager
def _resolved(directory: Path, package: str, excludes: str, wanted: Sequence[str], what: str) -> Iterator[Path]:
    """A folder beside the directory, soon gone, into which Spark's own Ivy has downloaded the package as
    spark-defaults.conf and its ivysettings say.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".jars-") as scratch:
        jars, nothing = Path(scratch, "jars"), Path(scratch, "nothing.py")
        nothing.touch()
        home = Path(str(metadata.distribution("pyspark").locate_file("pyspark")))
        command = [str(home / "bin" / "spark-submit"), "--master", "local[1]"]
        command += ["--packages", package, "--exclude-packages", excludes]
        command += ["--conf", f"spark.jars.ivy={scratch}", str(nothing)]
        environment = os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
        answer = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        if answer.returncode or any(not (jars / name).is_file() for name in wanted):
            raise SetupError(
                f"{what} could not be downloaded, nothing was changed: {_reason(answer.stderr)}. "
                "Is there network, and (behind a proxy) is spark.jars.ivySettings set in spark-defaults.conf?"
            )
        yield jars


def _reason(log: str) -> str:
    """The line of spark-submit's output that tells most."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"not found|Exception|Error|denied|No space", line)]
    return (telling or lines or ["nothing"])[-1][:300].rstrip(".")


def main(argv: list[str]) -> int:
    """Fetch the jars, or with --check-java only look for Java; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m spark_jobs.setup.jars", description=__doc__)
    parser.add_argument("--check-java", action="store_true", help="only check that Java is there")
    parser.add_argument(
        "--capture",
        nargs="?",
        const=ROCKETMQ,
        metavar="VERSION",
        help=f"fetch RocketMQ's admin client for `rebalance-audit capture` (default: {ROCKETMQ})",
    )
    parser.add_argument("--s3", action="store_true", help="fetch what a warehouse on S3 needs (12 MB)")
    asked = parser.parse_args(argv)
    try:
        check_java()
        if asked.capture:
            fetch_tools(TOOLS_DIR, asked.capture)
        elif asked.s3:
            from spark_jobs.runtime.session import JARS_DIR
            from spark_jobs.store.s3.jars import S3_DIR

            fetch_s3(S3_DIR, JARS_DIR)
        elif not asked.check_java:
            from spark_jobs.runtime.session import ARCHIVE, JARS_DIR
            from spark_jobs.setup.class_archive import make_archive  # imports pyspark, which the check must not need

            fetch_jars(JARS_DIR)
            make_archive(ARCHIVE)
    except RebalanceAuditError as error:
        print(f"rebalance-audit: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
