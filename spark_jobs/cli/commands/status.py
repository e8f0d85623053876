"""Show the newest step of the groups."""

from argparse import Namespace

from rich.console import Console

from spark_jobs.cli import show_status
from spark_jobs.cli.documents import answered, statuses_document
from spark_jobs.cli.questions import middle, opened, show_age
from spark_jobs.cli.terminal import show_next
from spark_jobs.errors import ExitCode


def status_command(arguments: Namespace) -> int:
    """Exit code 0 also with findings: `run` and `validate` are for gates; 2 where no group was audited."""
    with opened(arguments) as warehouse:
        statuses = warehouse.status(arguments.group, cluster=arguments.cluster)
    statuses.groups.sort(key=show_status.ORDERS[arguments.sort], reverse=True)
    if not answered(arguments, statuses_document(statuses), statuses.to_arrow):
        show_age(statuses.data_age, warehouse.clock())
        if arguments.group is None:
            show_status.show_statuses(Console(), statuses, every=arguments.all)
        else:
            show_status.show_group(Console(), statuses)
        for group in statuses.groups[:1]:
            names = {"group": group["consumer_group"], "cluster": group["cluster"]}
            worst = group["worst"]
            moment = {"at": middle(worst["started_at"], worst["ended_at"])} if worst else {}
            show_next("explain" if worst else "incidents", arguments.warehouse, **names, **moment)
    return ExitCode.CLEAN if statuses.groups else ExitCode.WARNINGS
