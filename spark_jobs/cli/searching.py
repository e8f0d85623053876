"""The commands that search what was published: runs, clients over all groups, a group at two times."""

from __future__ import annotations

from argparse import Namespace
from datetime import timedelta

from rich.console import Console

from spark_jobs.cli.documents import answered
from spark_jobs.cli.reading import middle, stored_tables, time_asked
from spark_jobs.cli.show_compared import compared_rows, show_compared
from spark_jobs.cli.show_searched import show_clients, show_runs
from spark_jobs.cli.terminal import progress_on, show_next
from spark_jobs.errors import ExitCode
from spark_jobs.jobs.clients import clients_named
from spark_jobs.jobs.compare import compared_times
from spark_jobs.read.published import published_tables, runs_of

#: How far back clients are searched where nothing else is asked for.
_SEARCHED = timedelta(days=1)


def runs_command(arguments: Namespace) -> int:
    """Exit code 0 whatever became of the runs; 2 where there is none."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        say("reading the runs")
        found = runs_of(stored, time_asked(arguments, published_tables(stored)), rejected=True)
    if not answered(arguments, {"runs": found}, found):
        show_runs(Console(), found)
        for one in [run for run in found if run["outcome"] == "published"][:1]:
            show_next(f"verify {one['run_id']}", {"warehouse": arguments.warehouse})
    return ExitCode.CLEAN if found else ExitCode.WARNINGS


def clients_command(arguments: Namespace) -> int:
    """Exit code 0 where somebody was found, else 2."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        say("reading the members of the groups")
        tables = published_tables(stored)
        interval = time_asked(arguments, tables) or tables.last(_SEARCHED)
        found = clients_named(tables, arguments.TEXT, interval, arguments.cluster, arguments.group)
    every = [one._asdict() for one in found]
    if not answered(arguments, {"interval": str(interval), "clients": every}, every):
        show_clients(Console(), found, interval)
        for one in found[:1]:
            at = middle(one.first_seen, one.last_seen)
            named = {"group": one.consumer_group, "cluster": one.cluster, "at": at}
            show_next("explain", {"warehouse": arguments.warehouse, **named})
    return ExitCode.CLEAN if found else ExitCode.WARNINGS


def compare_command(arguments: Namespace) -> int:
    """Exit code 0 whatever differs; 2 where the owners of the queues were not known in one of the intervals."""
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        intervals = (arguments.BEFORE, arguments.AFTER)
        found = compared_times(stored, arguments.group, arguments.cluster, intervals, say)
    rows = compared_rows(found)
    if not answered(arguments, {"compared": rows}, rows):
        show_compared(Console(), found)
        of_group = {"interval": str(arguments.AFTER), "group": found[0].consumer_group, "cluster": found[0].cluster}
        show_next("incidents", {"warehouse": arguments.warehouse, **of_group})
    return ExitCode.CLEAN if all(one.happened for one in found) else ExitCode.WARNINGS
