"""Show the newest step of the groups."""

from argparse import Namespace

from rich.console import Console

from spark_jobs.cli import show_group, show_status
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import opened, show_age, show_coverage
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
            show_group.show_group(Console(), statuses)
        show_coverage(statuses.coverage)
        for line in show_status.status_lines(statuses)[:1]:
            names = {"group": line.group["consumer_group"], "cluster": line.group["cluster"]}
            show_next("incidents", arguments.warehouse, **({"id": line.worst.incident_id} if line.worst else names))
    worst = (group["worst"] for group in statuses.groups if group["worst"] and not group["worst"]["is_over"])
    return exit_code((finding["severity"] for finding in worst), arguments.fail_on, statuses.coverage)
