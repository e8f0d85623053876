"""`python audits.py TASK`: audits by whichever commit `PYTHONPATH` names, one per line of stdin, in a warm process.

A line is the interval to audit; the answer is a line with the seconds that it took. Only what every commit that may be
compared has is imported here.
"""

import json
import sys
import time
from pathlib import Path

from spark_jobs.config import Configuration
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.pipeline import run as job
from spark_jobs.runtime.session import get_session
from spark_jobs.store.warehouse import Warehouse

#: Commits to which this one is compared may call it otherwise.
spec = next(getattr(job, name) for name in ("RunSpec", "RunRequest") if hasattr(job, name))


def main() -> None:
    """Until stdin ends. The task: `warehouse`, and `configuration` as keys and values of its file."""
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    configuration = Configuration.model_validate_json(json.dumps(task["configuration"]))
    spark, warehouse = get_session(), Warehouse.parse(task["warehouse"])
    for line in sys.stdin:
        began = time.perf_counter()
        job.run(spark, warehouse, spec(Interval.parse(line.strip())), configuration)
        print(f"took {time.perf_counter() - began}", flush=True)


if __name__ == "__main__":
    main()
