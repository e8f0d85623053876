"""Show the newest step of the groups."""

from argparse import Namespace

from rich.console import Console

from spark_jobs.cli import show_status
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import middle, opened, show_age, show_coverage
from spark_jobs.cli.terminal import show_next


def status_command(arguments: Namespace) -> int:
    """The `exit_code` of the worst findings that are not over, and of how much of the newest steps was observed."""
    with opened(arguments) as warehouse:
        statuses = warehouse.status(arguments.group, cluster=arguments.cluster)
    statuses.groups.sort(key=show_status.ORDERS[arguments.sort], reverse=True)
    document = {
        "newest_step": statuses.newest_step,
        "groups": [*statuses],
        "data_until": statuses.coverage.data_until,
        "coverage": coverage_document(statuses.coverage),
    }
    if not answered(arguments, document, statuses.to_arrow):
        show_age(statuses.coverage, warehouse.clock())
        if arguments.group is None:
            show_status.show_statuses(Console(), statuses, every=arguments.all)
        else:
            show_status.show_group(Console(), statuses)
        show_coverage(statuses.coverage)
        for group in statuses.groups[:1]:
            names = {"group": group["consumer_group"], "cluster": group["cluster"]}
            worst = group["worst"]
            moment = {"at": middle(worst["started_at"], worst["ended_at"])} if worst else {}
            show_next("explain" if worst else "incidents", arguments.warehouse, **names, **moment)
    worst = (group["worst"] for group in statuses.groups if group["worst"] and not group["worst"]["is_over"])
    return exit_code((finding["severity"] for finding in worst), arguments.fail_on, statuses.coverage)
