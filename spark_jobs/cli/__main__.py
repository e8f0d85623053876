# PYTHON_ARGCOMPLETE_OK
"""`python -m spark_jobs.cli`."""

from spark_jobs.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
