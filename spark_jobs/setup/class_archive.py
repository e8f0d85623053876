"""Set-up: an archive of the classes that a small audit loads, so that later JVMs need not prepare them."""

import logging
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyspark.sql import SparkSession

from schemas import MEMBERSHIP_SNAPSHOTS, SIGHTINGS, SOURCES
from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline.run import RunSpec, run
from spark_jobs.runtime.session import SMALL_SETTINGS, get_session
from spark_jobs.store.spark_types import spark_schema
from spark_jobs.store.warehouse import Warehouse

_LOG = logging.getLogger(__name__)
#: Seconds: of the audit and of writing the archive as Java ends.
_TIMEOUT = 600
_START = datetime(2026, 1, 1, tzinfo=UTC)


def make_archive(archive: Path) -> bool:
    """Return whether the archive is there now; does nothing if it was. Without it all works, and starts more slowly."""
    if archive.is_file():
        return True
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".classes-") as scratch:
        made = Path(scratch, "classes.jsa")
        command = [sys.executable, "-m", f"{__package__}.class_archive", str(made)]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=_TIMEOUT)
            made.rename(archive)
        except (OSError, subprocess.SubprocessError) as error:
            _LOG.warning("no archive of classes was made, Spark will start more slowly: %s", error)
            return False
    for other in set(archive.parent.glob("classes-*.jsa")) - {archive}:
        other.unlink()
    return True


def _small_audit(spark: SparkSession, warehouse: Warehouse) -> None:
    """Audit a group without members for an hour: with compiled expressions, and as small work is."""
    warehouse.create(spark, (*SOURCES, SIGHTINGS))
    table = MEMBERSHIP_SNAPSHOTS
    snapshot = dict.fromkeys(table.columns) | {"captured_at": _START, "connections": [], "subscriptions": []}
    snapshot |= {"cluster": "c", "consumer_group": "g", "broker_name": "b"}
    rows = spark.createDataFrame([snapshot], spark_schema(table)).select(*table.columns)
    warehouse.save(rows.write.format("delta").mode("append"), table)
    spec = RunSpec(Interval(_START, _START + timedelta(hours=1)))
    for settings in ({}, SMALL_SETTINGS):
        for name, value in settings.items():
            spark.conf.set(name, value)
        run(spark, warehouse, spec, Configuration())


def main(archive: str) -> None:
    """Audit, and let Java write the archive as it ends. What Spark leaves in the working folder is removed with it."""
    os.chdir(Path(archive).parent)
    spark = get_session(f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable -Xlog:all=error:stderr")
    with tempfile.TemporaryDirectory() as scratch:
        _small_audit(spark, Warehouse.parse(scratch))
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    spark.stop()
    java.stdin.close()
    java.wait(_TIMEOUT)


if __name__ == "__main__":
    main(sys.argv[1])
