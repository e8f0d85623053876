"""All groups, for people: a line about the worst incident of each that needs attention."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.tables import Column, known, severity_text, show_rows, table
from spark_jobs.cli.terminal import local, zone_name
from spark_jobs.domain.coverage import share_text
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import UNKNOWN, count, number_text, percent_text
from spark_jobs.show.language import translated
from spark_jobs.show.rows import Row, group_of
from spark_jobs.show.status import Statuses
from spark_jobs.show.text.incident_text import lasted_text, state_word

#: By `--sort`, what comes first is greatest; those that are equal stay in the order of the report.
ORDERS: Mapping[str, Callable[[Row], float]] = {
    "severity": lambda _: 0,
    "backlog": lambda group: _or_less(group["backlog_end"]),
    "peak-backlog": lambda group: _or_less(group.get("backlog_max")),
    "utilization": lambda group: _or_less(group["busiest_utilization"]),
}


def _or_less(value: float | None) -> float:
    """Unknown comes last."""
    return -1 if value is None else value


class StatusLine(NamedTuple):
    """A group, and its incidents, the worst first."""

    group: Row
    incidents: Sequence[Incident]

    @property
    def worst(self) -> Incident | None:
        """The incident that the line is about."""
        return self.incidents[0] if self.incidents else None

    @property
    def severity(self) -> str | None:
        """That of the incident; without one, that of the worst finding."""
        severity: str | None = self.worst.severity if self.worst else self.group["worst_severity"]
        return severity

    @property
    def open(self) -> Sequence[Incident]:
        """The incidents that are open."""
        return [incident for incident in self.incidents if incident.resolved_at is None]


def status_lines(statuses: Statuses) -> list[StatusLine]:
    """One per group, in the order given."""
    return [StatusLine(group, statuses.incidents.get(group_of(group), ())) for group in statuses.groups]


def show_statuses(console: Console, statuses: Statuses, *, every: bool = False) -> None:
    """A line for each group that needs attention, or for `every` one, in the order given; the others are counted."""
    lines = status_lines(statuses)
    shown = [line for line in lines if every or _state(line, statuses) in (_ATTENTION, _OVER)]
    newest = f"newest step {format_utc(statuses.newest_step)}" if statuses.newest_step else "nothing was audited"
    counts = Counter(_state(line, statuses) for line in lines)
    states = ", ".join(f"{counts[state]:,} {state}" for state in _STATES if counts[state]) or "none"
    hint = "" if len(shown) == len(lines) else "; --all shows them"
    columns = [*_columns(statuses)]
    show_rows(
        console,
        shown,
        lambda: table(f"Newest step of every group ({zone_name()})", columns, shown, console.width),
        lambda line: " ".join(filter(None, _words(line, statuses))),
        f"{count(len(lines), 'group')}; {newest}: {states}{hint}",
    )


_STATES = _ATTENTION, _OVER, _OLD, _UNSEEN, _INFO, _CALM, _DELETED = (
    "with warnings or errors",
    "with warnings or errors that are over",
    "not in that step",
    "with unknown owners",
    "with INFO only",
    "without findings",
    "deleted",
)


def _state(line: StatusLine, statuses: Statuses) -> str:
    """One of `_STATES`: unknown is not healthy, and a deleted group needs nothing."""
    if line.group["deleted_at"] is not None:
        return _DELETED
    if line.severity in (WARN, ERROR):
        return _OVER if line.worst and not line.open else _ATTENTION
    if line.group["step_start"] != statuses.newest_step:
        return _OLD
    if line.group["queue_count"] is None:
        return _UNSEEN
    return _INFO if line.severity else _CALM


def _columns(statuses: Statuses) -> Iterator[Column[StatusLine]]:
    yield Column("", lambda line: severity_text(line.severity), fixed=True)
    if _has_several_clusters(statuses):
        yield Column("cluster", lambda line: line.group["cluster"], fold=True)
    yield from _FIRST
    if _has_old_steps(statuses):
        yield Column("step", lambda line: f"{local(line.group['step_start']):%m-%d %H:%M}", fixed=True)
    if _is_in_part(statuses):
        yield _number("observed", lambda group: known(observed_text(group)))
    yield from _LAST


def _words(line: StatusLine, statuses: Statuses) -> Iterator[str]:
    """The words of a plain line, the sentence last."""
    group, worst = line.group, line.worst
    yield f"{line.severity or '-'} {worst.rule if worst else '-'}"
    if _has_several_clusters(statuses):
        yield f"cluster={group['cluster']}"
    yield f"group={group['consumer_group']}"
    if _has_old_steps(statuses):
        yield f"step={format_utc(group['step_start'])}"
    if worst:
        yield f"since={second_text(worst.opened_at)} ({lasted_text(worst)}, {state_word(worst)})"
    if _is_in_part(statuses):
        yield f"observed {observed_text(group)},"
    members = "unknown members" if group["member_count"] is None else count(group["member_count"], "member")
    yield f"{members}, queues: {queues_text(group)}, backlog {bounded(group, 'backlog_end')} ({_change(group)}),"
    yield f"peak {bounded(group, 'backlog_max')}"
    if worst:
        yield f"id={worst.incident_id[:8]} {translated(worst.headline)}"


def _has_several_clusters(statuses: Statuses) -> bool:
    return len({group["cluster"] for group in statuses.groups}) > 1


def _has_old_steps(statuses: Statuses) -> bool:
    return any(group["step_start"] != statuses.newest_step for group in statuses.groups)


def _is_in_part(statuses: Statuses) -> bool:
    """Return whether a group was not observed as a whole."""
    in_part = {(group.cluster, group.consumer_group) for group in statuses.coverage.not_whole}
    return any(group_of(group) in in_part for group in statuses.groups)


def _lasted(line: StatusLine) -> tuple[str, str | None]:
    """The state of the worst incident; below it, if that is over, how many others are open."""
    if line.worst is None:
        return "-", None
    open_beside = 0 if line.worst in line.open else len(line.open)
    return f"{state_word(line.worst)}, {lasted_text(line.worst)}", f"{open_beside:,} more open" if open_beside else None


#: By whether queues are unknown, and whether messages of others count.
_BOUNDS = {(False, False): "", (True, False): "≥ ", (False, True): "≤ ", (True, True): "~ "}


def bounded(group: Row, name: str) -> str:
    """Messages; a bound where not all queues are known all the time, or not only the group's messages count."""
    is_minimum = bool(group["unknown_queues"] or group.get("backlog_is_minimum") or group["backlog_end"] is None)
    bound = _BOUNDS[is_minimum, group["lag_quality"] == LagQuality.UNFILTERED]
    return UNKNOWN if group.get(name) is None else f"{bound}{group[name]:,}"


def queues_text(group: Row) -> str:
    """Queues by how many owners they have."""
    if group["queue_count"] is None:
        return UNKNOWN
    names = ("queues_with_one_owner", "double_owned_queues", "unassigned_queues")
    owners = zip(names, ("one owner", "several owners", "no owner"), strict=True)
    return ", ".join(f"{group[name]:,} with {owner}" for name, owner in owners if group[name]) or "0"


def observed_text(group: Row) -> str:
    """The part of its newest step that was observed."""
    return UNKNOWN if group["observed_share"] is None else share_text(group["observed_share"])


def _change(group: Row) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    return UNKNOWN if start is None or end is None else f"{end - start:+,}"


def _number(heading: str, cell: Callable[[Row], Text], drop: int = 0) -> Column[StatusLine]:
    return Column(heading, lambda line: cell(line.group), right=True, fixed=True, drop=drop)


def _since(line: StatusLine) -> str:
    return f"{local(from_micros(line.worst.opened_at)):%m-%d %H:%M}" if line.worst else "-"


#: The sentence always stays; the name of the rule is the first that a narrow terminal leaves out.
_FIRST: tuple[Column[StatusLine], ...] = (
    Column("group", lambda line: line.group["consumer_group"], fold=True),
    Column("what happened", lambda line: line.worst.headline if line.worst else "-", fold=True, enough=40),
    Column("state", _lasted, fixed=True),
)
_LAST: tuple[Column[StatusLine], ...] = (
    _number("backlog", lambda group: known(bounded(group, "backlog_end"))),
    _number("highest\nbacklog", lambda group: known(bounded(group, "backlog_max")), 1),
    _number("queues\nwithout\nowner", lambda group: known(number_text(group["unassigned_queues"])), 2),
    _number("queues\nowned\ntwice", lambda group: known(number_text(group["double_owned_queues"])), 3),
    Column("since", _since, fixed=True, drop=4),
    Column(
        "would more consumers help?", lambda line: _first_sentence(line.group["advice"]), fold=True, enough=40, drop=5
    ),
    _number("members", lambda group: known(number_text(group["member_count"])), 6),
    _number("busiest\nmember", lambda group: known(percent_text(group["busiest_utilization"])), 7),
    Column("rule", lambda line: line.worst.rule if line.worst else "-", fixed=True, drop=8),
)


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".") + "."
