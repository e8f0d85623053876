"""Suggest thresholds as YAML."""

from argparse import Namespace

from spark_jobs.cli.questions import opened
from spark_jobs.errors import ExitCode
from spark_jobs.show.suggest import suggestion_lines, suggestions_of
from spark_jobs.store.read.published import Scope


def suggest_command(arguments: Namespace) -> int:
    """Exit code 0 also where nothing is suggested."""
    names = Scope(None, arguments.cluster, arguments.group)
    with opened(arguments) as warehouse:
        interval, suggestions = suggestions_of(
            warehouse.stored, names, arguments.days, warehouse.configuration, warehouse.progress
        )
    print(*suggestion_lines(interval, suggestions), sep="\n")
    return ExitCode.CLEAN
