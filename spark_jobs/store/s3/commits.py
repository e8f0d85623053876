"""A check, before the first commit, that commits on S3 keep writers in several processes apart."""

import uuid
from contextlib import suppress

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark_jobs.errors import SetupError, WarehouseError
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
        check_puts(location)


def check_puts(location: Location) -> None:
    """Raises `WarehouseError` where the store ignores `If-None-Match` and overwrites an object."""
    import obstore  # a library of 15 MB, for warehouses on S3 only
    from obstore.exceptions import AlreadyExistsError

    from spark_jobs.store.s3.objects import object_store

    store, name = object_store(location), f"probe-{uuid.uuid4().hex}"
    try:
        obstore.put(store, name, b"", mode="create")
        obstore.put(store, name, b"", mode="create")
    except AlreadyExistsError:
        return
    except Exception as error:
        raise WarehouseError(f"the object store of {location.location} cannot be written: {error}") from error
    finally:
        with suppress(Exception):  # what is wrong has been said
            obstore.delete(store, name)
    raise WarehouseError(
        f"the object store of {location.location} ignores conditional writes (If-None-Match): two writers would "
        "overwrite each other's commits. Use a store or a version that has them"
    )


def _is_loaded(spark: SparkSession) -> bool:
    jvm = spark._jvm
    assert jvm is not None
    try:
        jvm.org.apache.spark.util.Utils.classForName(LOG_STORE, True, False)
    except Py4JJavaError:
        return False
    return True
