"""The script for spark-submit, with exit codes for schedulers; alone in its folder, where Python looks for modules."""

import sys

from spark_jobs.cli.main import main
from spark_jobs.errors import ExitCode

if __name__ == "__main__":
    code = main(sys.argv[1:])
    # Warnings are in the log; a scheduler takes every code but 0 for a failure.
    sys.exit(ExitCode.CLEAN if code == ExitCode.WARNINGS else code)
