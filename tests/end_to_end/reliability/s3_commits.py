"""A process that commits to one table as fast as it can.

`python -m tests.end_to_end.reliability.s3_commits TABLE NAME COUNT` begins when its standard input
ends, so that several begin at once.
"""

import sys

from spark_jobs.runtime.session import get_session
from spark_jobs.store.conflicts import retry_on_conflict


def main(table: str, name: str, count: int) -> None:
    """Appends `count` rows, each in a commit of its own; prints `ready` before the first, and a plan at last."""
    spark = get_session()
    rows = [spark.createDataFrame([(name, number)], "name STRING, number INT").coalesce(1) for number in range(count)]
    print("ready", flush=True)
    sys.stdin.read()
    for row in rows:
        retry_on_conflict(lambda row=row: row.write.format("delta").mode("append").save(table), "append a row")  # type: ignore[misc]
    spark.read.format("delta").load(table).explain("extended")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
