"""Print the versions of the audit, Spark and Delta."""

from argparse import Namespace
from importlib import metadata

from spark_jobs.errors import ExitCode


def version_command(_: Namespace) -> int:
    """Exit code 0 whatever is installed."""
    for package in ("rebalance-audit", "pyspark", "delta-spark"):
        versions = [distribution.version for distribution in metadata.distributions(name=package)]
        print(package, *(versions[:1] or ["not installed"]))
    return ExitCode.CLEAN
