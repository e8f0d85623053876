"""A program of somebody who has a Spark session, and audits in it. Prints what it saw as JSON.

python -m tests.spark.session.somebody audit WAREHOUSE
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark import RDD
from pyspark.sql import SparkSession

import rebalance_audit as ra
from spark_jobs.runtime.borrowed import session_beside
from spark_jobs.runtime.session import JARS_DIR, SMALL_SETTINGS
from spark_jobs.store.warehouse import Warehouse
from tests.support.snapshots import healthy_group, load

HOURS = ("2026-03-01T10:00/2026-03-01T11:00", "2026-03-01T11:00/2026-03-01T12:00")
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.extraClassPath": ":".join(map(str, sorted(JARS_DIR.glob("*.jar")))),
}
#: Settings with which the audit's queries would mean something else.
OTHERS = {
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.catalog.lake": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def started(folder: Path, settings: dict[str, str]) -> SparkSession:
    """A session as people start theirs, for small work."""
    builder = SparkSession.builder.master("local[2]").appName("somebody's").config("spark.ui.enabled", "false")
    for name, value in (SMALL_SETTINGS | settings).items():
        builder = builder.config(name, value)
    return builder.config("spark.sql.warehouse.dir", str(folder / "databases")).getOrCreate()


def state(spark: SparkSession, to_df: object) -> dict[str, Any]:
    """All that a run must leave as it was."""
    return {
        "conf": sorted(spark.conf.getAll.items()),
        "context": sorted(spark.sparkContext.getConf().getAll()),
        "is_active": SparkSession.getActiveSession() is spark and SparkSession.active() is spark,
        "again": SparkSession.builder.getOrCreate() is spark,
        "to_df": RDD.toDF is to_df,
        "catalog": spark.catalog.currentCatalog(),
        "databases": [row.namespace for row in spark.sql("SHOW DATABASES").collect()],
        "tables": sorted((row.tableName, row.isTemporary) for row in spark.sql("SHOW TABLES").collect()),
        "zone": (os.environ.get("TZ"), time.tzname),
        "interrupt": str(signal.getsignal(signal.SIGINT)),
        "stdout": os.fstat(1).st_ino,
        "path": sys.path[:],
        "noon": str(spark.sql("SELECT current_timezone(), TIMESTAMP '2026-03-01 12:00:00'").collect()),
    }


def audit(folder: Path) -> dict[str, Any]:
    """Two hours of `twins` at once, in threads, in a folder; the first one also in a catalog's schema."""
    spark = started(folder, DELTA | OTHERS)
    beside = session_beside(spark)
    beside.sql("CREATE SCHEMA audit")
    for place in (folder / "warehouse", "spark_catalog.audit"):
        load(beside, Warehouse.parse(str(place)), healthy_group(range(0, 7200, 20), "c1", "c1", queues=1))
    beside.catalog.setCurrentDatabase("default")
    spark.sql("CREATE TABLE orders (id INT) USING parquet")
    spark.range(3).createOrReplaceTempView("membership_snapshots")
    to_df = RDD.toDF
    spark.createDataFrame([(1,)], "id int").collect()
    before = state(spark, to_df)
    warehouse = ra.open(folder / "warehouse", spark=spark)
    with ThreadPoolExecutor(2) as threads:
        results = list(threads.map(warehouse.run, HOURS))
    in_schema = ra.open("spark_catalog.audit").run(HOURS[0], spark=spark)
    return {
        "before": before,
        "after": state(spark, to_df),
        "findings": [
            (finding["rule"], finding["started_at"], finding["ended_at"])
            for result in results
            for finding in result.findings
        ],
        "hashes": [result.run["content_hashes"] for result in (results[0], in_schema)],
        "steps": [group["step_start"] for group in ra.open("spark_catalog.audit", spark=spark).status()],
    }


def lacking(folder: Path) -> dict[str, Any]:
    """Errors for sessions that cannot audit."""
    said = {}
    spark = started(folder, {"spark.driver.extraClassPath": DELTA["spark.driver.extraClassPath"]})
    said["Delta"] = refusal(lambda: ra.open(folder).run(HOURS[0], spark=spark))
    spark.stop()
    said["stopped"] = refusal(lambda: ra.open(folder).run(HOURS[0], spark=spark))
    os.environ["PYSPARK_PYTHON"] = "/nowhere/python"
    spark = started(folder, DELTA)
    said["Python"] = refusal(lambda: ra.open(folder).run(HOURS[0], spark=spark))
    spark.stop()
    os.environ["PYSPARK_PYTHON"] = str(folder / "bare" / "bin" / "python")
    spark = started(folder, DELTA)
    said["packages"] = refusal(lambda: ra.open(folder).run(HOURS[0], spark=spark))
    return said


def connect(folder: Path) -> dict[str, Any]:
    """The error for a session of Spark Connect, whose server is in this process's own Java."""
    spark: Any = SparkSession.builder.remote("local[1]").getOrCreate()
    assert spark.range(3).count() == 3
    run = ra.open(folder).run
    return {"open": refusal(lambda: ra.open(folder, spark=spark)), "run": refusal(lambda: run(HOURS[0], spark=spark))}


def refusal(asked: Callable[[], object]) -> str:
    """The error of the API."""
    try:
        asked()
    except ra.RebalanceAuditError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


if __name__ == "__main__":
    what = {"audit": audit, "lacking": lacking, "connect": connect}[sys.argv[1]]
    print(json.dumps(what(Path(sys.argv[2])), default=str))
    sys.stdout.flush()
    os._exit(0)
