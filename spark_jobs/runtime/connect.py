"""Sessions of Spark Connect, without importing Spark."""

from spark_jobs.errors import SetupError
from spark_jobs.installation import documentation


def check_no_connect(given: object) -> None:
    """Raise `SetupError` for a session of Spark Connect; needs nothing of Spark itself."""
    if type(given).__module__.startswith("pyspark.sql.connect"):
        raise SetupError(
            "Spark Connect cannot audit, as it reaches neither Delta's log nor the executors' files: run the audit "
            f"with spark-submit ({documentation('cluster')}), and read the results with `open` without a session"
        )
