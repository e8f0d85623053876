"""Whether a small cluster costs more than one process: a master and two workers, all on this machine."""

import sys
from dataclasses import replace

from benchmarks import worker
from benchmarks.bench import Bench
from benchmarks.measure import CallResults
from benchmarks.standalone import submit, two_workers

#: What `docs/cluster.md` leaves to who submits.
_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.executor.memory": "1500m",
    "spark.pyspark.python": sys.executable,
    "spark.pyspark.driver.python": sys.executable,
}


def workers_by_local(bench: Bench) -> CallResults:
    """A run on two standalone workers of one core ÷ in `local[2]`; a fifth of the whole fleet's groups."""
    name = bench.size(0.2)
    bench.make({name: replace(bench.full_fleet, groups=bench.groups(0.2))})
    target = bench.target(name)
    bench.say("auditing in one process")
    (local,) = bench.times("audit", [target])
    with two_workers() as master:
        bench.say("auditing on two workers")
        (spread,) = bench.times("audit", [target], command=submit(master, _SETTINGS, str(worker.__file__)))
    return CallResults.ratio(spread, local, f"{bench.groups(0.2)} groups")
