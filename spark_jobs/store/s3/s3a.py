"""Hadoop's S3A, parts of Amazon's SDK, and the log store: jars, settings, and a check before the first commit."""

import os
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from subprocess import DEVNULL
from zipfile import ZipFile

from py4j.protocol import Py4JJavaError
from pyspark.conf import SparkConf
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.installation import fetched
from spark_jobs.store.location import S3_SCHEMES, Location

#: Set-up puts them there, once; nothing is resolved at start.
S3_DIR = fetched("s3")

#: Of Amazon's SDK, as Hadoop 3.4.2 was made with; newer ones do not get along with other makers' stores.
_SDK = "2.29.52"
_PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client")
#: The whole SDK in one jar of 600 MB; what comes with Spark; what only asynchronous clients load.
EXCLUDES = (
    "software.amazon.awssdk:bundle,software.amazon.awssdk:netty-nio-client,io.netty:*,org.apache.hadoop:hadoop-client*,"
    "org.slf4j:*,org.apache.httpcomponents:*,commons-logging:*,commons-codec:*"
)

LOG_STORE = "rebalance_audit.ExclusiveLogStore"
_SOURCE = Path(__file__).with_name("ExclusiveLogStore.java")


def log_store_jar() -> str:
    """File name of the log store's jar, with a hash of its source: another version's jar does not count."""
    return f"rebalance-audit-log-store-{sha256(_SOURCE.read_bytes()).hexdigest()[:12]}.jar"


def hadoop_version() -> str:
    """Of the Hadoop that Spark brings: S3A must be of the same."""
    folder = Path(str(metadata.distribution("pyspark").locate_file("pyspark/jars")))
    return next(folder.glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")


def packages() -> str:
    """The packages to fetch, as Maven names them."""
    parts = (f"software.amazon.awssdk:{part}:{_SDK}" for part in _PARTS)
    return ",".join((f"org.apache.hadoop:hadoop-aws:{hadoop_version()}", *parts))


def module_jar() -> str:
    """File name of S3A's jar, as Ivy calls it."""
    return f"org.apache.hadoop_hadoop-aws-{hadoop_version()}.jar"


def installed(directory: Path = S3_DIR) -> list[Path]:
    """The jars that are to be on Java's class path; none where set-up was not asked for them."""
    return sorted(directory.glob("*.jar")) if (directory / log_store_jar()).is_file() else []


def compile_log_store(directory: Path, delta: Path) -> None:
    """Adds the jar of the log store, compiled by the compiler that Spark brings; `delta` is the folder of its jars."""
    configuration = SparkConf(loadDefaults=False)
    configuration.set("spark.driver.extraClassPath", ":".join(map(str, sorted(delta.glob("*.jar")))))
    gateway = launch_gateway(configuration, {"stderr": DEVNULL})  # type: ignore[no-untyped-call]
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_SOURCE.read_text(encoding="utf-8"))
        with ZipFile(directory / log_store_jar(), "w") as jar:
            for name, code in dict(compiler.getBytecodes()).items():
                jar.writestr(f"{name.replace('.', '/')}.class", bytes(code))
    finally:
        gateway.shutdown()


def log_store_key(scheme: str) -> str:
    """Spark's setting that names Delta's log store."""
    return f"spark.delta.logStore.{scheme}.impl"


def s3_settings() -> dict[str, str]:
    """Spark's settings for S3 from the environment: log store, endpoint, region. S3A finds credentials by itself."""
    settings = {log_store_key(scheme): LOG_STORE for scheme in S3_SCHEMES}
    settings["spark.hadoop.fs.s3.impl"] = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    if endpoint := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # As delta-rs: other makers' stores have no name for each bucket.
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
    if region := os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings


def check_commits(spark: SparkSession, location: Location) -> None:
    """Raise `SetupError` without a log store that keeps S3 writers apart, `WarehouseError` if the store cannot."""
    if not location.is_on_s3:
        return
    if spark.sparkContext.getConf().get(log_store_key(location.scheme)) == LOG_STORE:
        if not _is_loaded(spark):
            raise SetupError(
                f"the warehouse {location.location} is on S3, where Delta alone lets two writers overwrite each "
                f"other's commits: run `rebalance-audit setup --s3` once, with network access, and "
                f"give spark-submit its jars, or set {log_store_key(location.scheme)} to your own log store"
            )
        from spark_jobs.store.s3.objects import check_puts  # a library of 15 MB, for warehouses on S3 only

        check_puts(location)


def _is_loaded(spark: SparkSession) -> bool:
    jvm = spark._jvm
    assert jvm is not None
    try:
        jvm.org.apache.spark.util.Utils.classForName(LOG_STORE, True, False)
    except Py4JJavaError:
        return False
    return True
