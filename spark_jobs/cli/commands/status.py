"""Show the newest step of the groups, or of one group in a paragraph."""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, TypedDict

from rich.console import Console

from spark_jobs.cli import show_status
from spark_jobs.cli.documents import CoverageDocument, answered, coverage_document
from spark_jobs.cli.exit_codes import exit_code
from spark_jobs.cli.questions import opened, show_age, show_coverage
from spark_jobs.cli.show_status import StatusLine, bounded, observed_text, queues_text, status_lines
from spark_jobs.cli.terminal import print_line, show_next
from spark_jobs.domain.coverage import Seen
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, percent_text, rate_text
from spark_jobs.domain.status.utilization import Bottleneck
from spark_jobs.show.rows import Row
from spark_jobs.show.status import STATUS_COLUMNS, Statuses
from spark_jobs.show.text.incident_text import lasted_text, state_word


def status_command(arguments: Namespace) -> int:
    """The `exit_code` of the worst findings that are not over, and of how much of the newest steps was observed."""
    with opened(arguments) as warehouse:
        statuses = warehouse.status(arguments.group, cluster=arguments.cluster)
    statuses.groups.sort(key=show_status.ORDERS[arguments.sort], reverse=True)
    if not answered(arguments, status_document(statuses), statuses.to_arrow):
        show_age(statuses.coverage, warehouse.clock())
        if arguments.group is None:
            show_status.show_statuses(Console(), statuses, every=arguments.all)
        else:
            show_group(Console(), statuses)
        show_coverage(statuses.coverage)
        for line in show_status.status_lines(statuses)[:1]:
            names = {"group": line.group["consumer_group"], "cluster": line.group["cluster"]}
            show_next("incidents", arguments.warehouse, **({"id": line.worst.incident_id} if line.worst else names))
    worst = (group["worst"] for group in statuses.groups if group["worst"] and not group["worst"]["is_over"])
    return exit_code((finding["severity"] for finding in worst), arguments.fail_on, statuses.coverage)


#: What keeps the busiest member from consuming more.
_LIMITS: Mapping[str, str] = {
    Bottleneck.LISTENER: "its consume threads",
    Bottleneck.PULLS: "its pulls",
    Bottleneck.HOT_QUEUE: "the pulls of a queue that receives far more than others",
    Bottleneck.ORDERED_QUEUE: "the one thread for each of its ordered queues",
}


def show_group(console: Console, statuses: Statuses) -> None:
    """A paragraph about the group (of each cluster that is asked for)."""
    for line in status_lines(statuses):
        group = line.group
        name = f"{group['consumer_group']} (cluster {group['cluster']})"
        old = "" if group["step_start"] == statuses.newest_step else " (old)"
        print_line(console, f"{line.severity or '-'} {name}, step {format_utc(group['step_start'])}{old}")
        covered = statuses.coverage.of(group["cluster"], group["consumer_group"])
        if covered is not None and covered.seen is not Seen.WHOLE:
            print_line(console, f"  {'observed':<15} {observed_text(group)} of the step")
        for heading, text in _paragraph(line):
            print_line(console, f"  {heading:<15} {text}")


def _paragraph(line: StatusLine) -> Iterator[tuple[str, str]]:
    group = line.group
    for place, incident in enumerate(line.incidents):
        state = f"{incident.severity} {state_word(incident)}, {lasted_text(incident)}"
        yield "" if place else "incidents", f"{state}: {incident.headline} (id {incident.incident_id[:8]})"
    rules = (
        f"{rule['rule']} × {rule['findings']}" if rule["findings"] > 1 else rule["rule"]
        for rule in group["rules"] or ()
    )
    yield "findings", ", ".join(rules) or "-"
    if group["deleted_at"] is not None:
        yield "group deleted", f"{format_utc(group['deleted_at'])}: no broker listed it any more"
    for topic in group["deleted_topics"] or ():
        yield "topic deleted", f"{topic['topic']}, {format_utc(topic['deleted_at'])}: no broker had it any more"
    yield "members", _members(group)
    yield "queues", queues_text(group)
    yield "backlog", "; ".join((_between(group), *_peak(group), *_backlog_notes(group)))
    yield "oldest message", _oldest(group)
    yield "caught up", _caught_up(group)
    yield "deletion", _deletion(group)
    yield "rates", _rates(group)
    yield "utilization", _utilization(group)
    yield "more consumers?", f"{group['advice']} ({group['bottleneck']})"


def _members(group: Row) -> str:
    if group["member_count"] is None:
        return UNKNOWN
    members = count(group["member_count"], "member")
    return f"{members}, {group['idle_members']:,} of which own no queue" if group["idle_members"] else members


def _between(group: Row) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    if start is None and end is None:
        return UNKNOWN
    first = UNKNOWN if start is None else count(start, "message")
    return f"{first} at the beginning of the step, {number_text(end)} at its end"


def _peak(group: Row) -> Iterable[str]:
    """The highest backlog at one moment; a step of an older version does not have it."""
    if group.get("backlog_max") is not None and group["backlog_max_at"] is not None:
        yield f"highest {bounded(group, 'backlog_max')} at {format_utc(group['backlog_max_at'].replace(microsecond=0))}"


def _backlog_notes(group: Row) -> Iterable[str]:
    """Notes on messages that the backlog's numbers leave out, or count too much."""
    if group["lag_quality"] == LagQuality.UNFILTERED:
        yield "messages that the subscription skips count, too"
    if group["stranded"]:
        yield f"{group['stranded']:,} more in queues that no consumer can read"
    if group["unknown_queues"]:
        yield f"unknown for {count(group['unknown_queues'], 'queue')}"
    if group.get("backlog_is_minimum"):
        yield "messages that clients hold do not count"


def _rates(group: Row) -> str:
    """Messages produced and consumed; an offset moves past what the subscription skips, too."""
    produced, consumed = group["produced_messages_per_second"], group["consumed_messages_per_second"]
    rates = f"{rate_text(produced)} messages/s produced, {rate_text(consumed)} messages/s consumed"
    return f"{rates}, or skipped by the subscription" if group["lag_quality"] == LagQuality.UNFILTERED else rates


def _oldest(group: Row) -> str:
    """Age of the oldest message not consumed, at its highest; null where nothing waited, or nothing is known."""
    age = group["oldest_message_ms"]
    if age is None:
        return "no message waited" if group["backlog_end"] == 0 and not group.get("backlog_max") else UNKNOWN
    return f"had waited {duration_text(timedelta(milliseconds=age))}"


def _caught_up(group: Row) -> str:
    """How long until the group has caught up, or that it does not, at its pace at the end of the step."""
    seconds = group["catch_up_seconds"]
    if group["catches_up"] is False:
        return "never at its last pace: a queue has a backlog that does not shrink"
    if seconds is None:
        return UNKNOWN
    return f"in {duration_text(timedelta(seconds=seconds))} at its last pace" if seconds else "yes"


def _deletion(group: Row) -> str:
    """How long until a message that waits may be deleted."""
    seconds = group["retention_left_seconds"]
    if seconds is not None:
        return f"the broker may delete the first waiting message in {duration_text(timedelta(seconds=seconds))}"
    return "no message waits for long" if group["catch_up_seconds"] == 0 else UNKNOWN


def _utilization(group: Row) -> str:
    """Of all members, and of the one that is nearest to its limit; how many more messages a second that leaves."""
    if group["utilization"] is None:
        return UNKNOWN
    busiest = f"{percent_text(group['busiest_utilization'])} of what {_LIMITS[group['busiest_bottleneck']]} can do"
    headroom = rate_text(group["headroom_messages_per_second"])
    return (
        f"{percent_text(group['utilization'])} of what all members can consume; the busiest one does {busiest}; "
        f"{headroom} more messages/s until it falls behind"
    )


class StatusDocument(TypedDict):
    """The newest step of groups; docs/json-keys.txt says what its keys mean."""

    newest_step: datetime | None
    groups: list[Annotated[dict[str, Any], STATUS_COLUMNS]]
    data_until: Mapping[str, datetime]
    coverage: CoverageDocument


def status_document(statuses: Statuses) -> StatusDocument:
    """The newest step of groups for `as_json`, and how much of it was observed."""
    return {
        "newest_step": statuses.newest_step,
        "groups": [*statuses],
        "data_until": statuses.coverage.data_until,
        "coverage": coverage_document(statuses.coverage),
    }
