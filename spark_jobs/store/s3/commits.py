"""A check, before the first commit, that commits on S3 keep writers in several processes apart."""

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError
from spark_jobs.store.location import Location
from spark_jobs.store.s3.s3a import LOG_STORE, log_store_key


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
