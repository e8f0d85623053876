# PYTHON_ARGCOMPLETE_OK
"""`python -m rebalance_audit`, and the command `rebalance-audit`."""

from spark_jobs.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
