"""All groups, for people: a line for each that needs attention, or a paragraph about one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any

from rich.console import Console

from spark_jobs.cli.tables import Column, known, severity_text, show_table
from spark_jobs.cli.terminal import local, print_line, zone_name
from spark_jobs.domain.coverage import Seen, share_text
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.severities import ERROR, WARN
from spark_jobs.domain.model.statuses import LagQuality
from spark_jobs.domain.phrases import (
    UNKNOWN,
    catch_up_text,
    count,
    number_text,
    percent_text,
    rate_text,
    retention_text,
)
from spark_jobs.show.rows import group_of
from spark_jobs.show.status import Statuses

#: A row of `group_status`.
Group = Mapping[str, Any]

#: By `--sort`, what comes first is greatest; those that are equal stay in the order of the report.
ORDERS: Mapping[str, Callable[[Group], float]] = {
    "severity": lambda _: 0,
    "backlog": lambda group: _or_less(group["backlog_end"]),
    "peak-backlog": lambda group: _or_less(group.get("backlog_max")),
    "utilization": lambda group: _or_less(group["busiest_utilization"]),
}


def _or_less(value: float | None) -> float:
    """Unknown comes last."""
    return -1 if value is None else value


def show_statuses(console: Console, statuses: Statuses, *, every: bool = False) -> None:
    """A line for each group that needs attention, or for `every` one, in the order given; the others are counted."""
    shown = [group for group in statuses.groups if every or _state(group, statuses) in (_ATTENTION, _OVER)]
    newest = f"newest step {format_utc(statuses.newest_step)}" if statuses.newest_step else "nothing was audited"
    counts = Counter(_state(group, statuses) for group in statuses.groups)
    states = ", ".join(f"{counts[state]:,} {state}" for state in _STATES if counts[state]) or "none"
    hint = "" if len(shown) == len(statuses.groups) else "; --all shows them"
    summary = f"{count(len(statuses.groups), 'group')}; {newest}: {states}{hint}"
    show_table(console, f"Newest step of every group ({zone_name()})", [*_columns(statuses)], shown, summary)


_STATES = _ATTENTION, _OVER, _OLD, _UNSEEN, _INFO, _CALM, _DELETED = (
    "with warnings or errors",
    "with warnings or errors that are over",
    "not in that step",
    "with unknown owners",
    "with INFO only",
    "without findings",
    "deleted",
)


def _state(group: Group, statuses: Statuses) -> str:
    """Return what is not known is not healthy; a group that is deleted needs nothing."""
    if group["deleted_at"] is not None:
        return _DELETED
    if _severity(group) in (WARN, ERROR):
        return _OVER if _is_over(group) else _ATTENTION
    if group["step_start"] != statuses.newest_step:
        return _OLD
    if group["queue_count"] is None:
        return _UNSEEN
    return _INFO if group["worst_severity"] else _CALM


def _columns(statuses: Statuses) -> Iterator[Column[Group]]:
    yield Column("", lambda group: severity_text(_severity(group)), "{}", fixed=True)
    yield Column("", _open, fixed=True)
    yield Column("rule", _rule, "{}", fixed=True)
    if len({group["cluster"] for group in statuses.groups}) > 1:
        yield Column("cluster", lambda group: group["cluster"], "cluster={}", fold=True)
    yield Column("group", lambda group: group["consumer_group"], "group={}", fold=True)
    if any(group["step_start"] != statuses.newest_step for group in statuses.groups):
        yield Column("step", lambda group: f"{local(group['step_start']):%m-%d %H:%M}", _step, fixed=True)
    not_whole = {(group.cluster, group.consumer_group) for group in statuses.coverage.not_whole}
    if any(group_of(group) in not_whole for group in statuses.groups):
        yield _OBSERVED
    yield from _COLUMNS
    if any(group.get("backlog_max") is not None for group in statuses.groups):
        yield _PEAK
    yield Column("bottleneck", _bottleneck, "bottleneck: {}", fold=True, drop=3)
    if any(group["busiest_utilization"] is not None for group in statuses.groups):
        yield _BUSIEST


def _severity(group: Group) -> str | None:
    """Of the worst finding that is not over, where there is one."""
    severity: str | None = group["worst"]["severity"] if group["worst"] else group["worst_severity"]
    return severity


def _is_over(group: Group) -> bool:
    return bool(group["worst"] and group["worst"]["is_over"])


def _open(group: Group) -> str:
    return ("over" if _is_over(group) else "open") if group["worst"] else "-"


def _rule(group: Group) -> str:
    return group["worst"]["rule"] if group["worst"] else "-"


def _step(group: Group) -> str:
    return f"step={format_utc(group['step_start'])}"


def _or_earlier(group: Group) -> bool:
    """Return whether what was found may have begun before the step."""
    return bool(group["worst"]["started_at"] <= group["step_start"])


def _since(group: Group) -> str:
    worst = group["worst"]
    return f"{'≤ ' if _or_earlier(group) else ''}{local(worst['started_at']):%m-%d %H:%M}" if worst else "-"


def _since_word(group: Group) -> str:
    if not group["worst"]:
        return ""
    start, earlier = group["worst"]["started_at"].replace(microsecond=0), " or earlier" if _or_earlier(group) else ""
    return f"since={format_utc(start)}{earlier} ({_lasted(group)}, {_open(group)})"


def _lasted(group: Group) -> str:
    worst = group["worst"]
    return duration_text(worst["ended_at"] - worst["started_at"]) if worst else "-"


def _owned(group: Group, text: str = "{}/{}/{}") -> str:
    """Queues with one owner, with several, with none."""
    if group["queue_count"] is None:
        return UNKNOWN
    names = ("queues_with_one_owner", "double_owned_queues", "unassigned_queues")
    return text.format(*(f"{group[name]:,}" for name in names))


def _owned_words(group: Group) -> str:
    return _owned(group, "{} with one owner, {} with several, {} without")


def _owned_word(group: Group) -> str:
    return f"queues: {_owned_words(group)},"


#: By whether queues are unknown, and whether messages of others count.
_BOUNDS = {(False, False): "", (True, False): "≥ ", (False, True): "≤ ", (True, True): "~ "}


def _bounded(group: Group, name: str) -> str:
    """Messages; a bound where not all queues are known all the time, or not only the group's messages count."""
    is_minimum = bool(group["unknown_queues"] or group.get("backlog_is_minimum") or group["backlog_end"] is None)
    bound = _BOUNDS[is_minimum, group["lag_quality"] == LagQuality.UNFILTERED]
    return UNKNOWN if group.get(name) is None else f"{bound}{group[name]:,}"


def _change(group: Group) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    return UNKNOWN if start is None or end is None else f"{end - start:+,}"


def _members_word(group: Group) -> str:
    return "unknown members," if group["member_count"] is None else f"{count(group['member_count'], 'member')},"


def _bottleneck(group: Group) -> str:
    return str(group["bottleneck"].replace("_", " ").lower())


_number = partial(Column[Group], right=True, fixed=True)


_COLUMNS: tuple[Column[Group], ...] = (
    Column("since", _since, _since_word, fixed=True, drop=4),
    _number("lasted", _lasted, drop=6),
    _number("members", lambda group: known(number_text(group["member_count"])), _members_word, drop=7),
    _number("queues with one/\nseveral/no owner", lambda group: known(_owned(group)), _owned_word, drop=2),
    _number("backlog", lambda group: known(_bounded(group, "backlog_end")), "backlog {}", drop=1),
    _number("change", lambda group: known(_change(group)), "({}),", drop=5),
)


_BUSIEST = _number("busiest\nmember", lambda group: known(percent_text(group["busiest_utilization"])), drop=8)


#: The most that waited at one moment of the step.
_PEAK = _number("peak", lambda group: known(_bounded(group, "backlog_max")), "peak {},", drop=4)


_OBSERVED = _number("observed", lambda group: known(_observed(group)), "observed {},")


def _observed(group: Group) -> str:
    return UNKNOWN if group["observed_share"] is None else share_text(group["observed_share"])


def show_group(console: Console, statuses: Statuses) -> None:
    """A paragraph about the group (of each cluster that is asked for)."""
    for group in statuses.groups:
        name = f"{group['consumer_group']} (cluster {group['cluster']})"
        old = "" if group["step_start"] == statuses.newest_step else " (old)"
        print_line(console, f"{_severity(group) or '-'} {name}, step {format_utc(group['step_start'])}{old}")
        covered = statuses.coverage.of(group["cluster"], group["consumer_group"])
        if covered is not None and covered.seen is not Seen.WHOLE:
            print_line(console, f"  {'observed':<15} {_observed(group)}")
        for heading, text in _paragraph(group):
            print_line(console, f"  {heading:<15} {text}")


def _paragraph(group: Group) -> Iterator[tuple[str, str]]:
    rules = (
        f"{rule['rule']} × {rule['findings']}" if rule["findings"] > 1 else rule["rule"]
        for rule in group["rules"] or ()
    )
    if group["worst"]:
        yield "root cause", " ".join((_rule(group), _since_word(group)))
    yield "findings", ", ".join(rules) or "-"
    if group["deleted_at"] is not None:
        yield "group deleted", f"{format_utc(group['deleted_at'])}: no broker listed it any more"
    for topic in group["deleted_topics"] or ():
        yield "topic deleted", f"{topic['topic']}, {format_utc(topic['deleted_at'])}: no broker had it any more"
    idle = "" if group["idle_members"] is None else f", {group['idle_members']:,} idle"
    yield "members", f"{number_text(group['member_count'])}{idle}"
    yield "queues", _owned_words(group)
    yield "backlog", ", ".join((_between(group), *_peak(group), *_backlog_notes(group)))
    yield "oldest message", _oldest(group)
    yield "caught up in", catch_up_text(group["catch_up_seconds"], group["catches_up"])
    yield "deleted in", retention_text(group["retention_left_seconds"], group["catch_up_seconds"])
    produced, consumed = group["produced_messages_per_second"], group["consumed_messages_per_second"]
    yield "rates", f"{rate_text(produced)}/s in, {rate_text(consumed)}/s out"
    yield "utilization", _utilization(group)
    yield "bottleneck", _bottleneck(group)
    yield "more consumers?", group["advice"]


def _between(group: Group) -> str:
    start, end = group["backlog_start"], group["backlog_end"]
    return UNKNOWN if start is None and end is None else f"{number_text(start)} → {number_text(end)}"


def _peak(group: Group) -> Iterable[str]:
    """The highest backlog at one moment; a step of an older version does not have it."""
    if group.get("backlog_max") is not None and group["backlog_max_at"] is not None:
        yield f"peak {_bounded(group, 'backlog_max')} at {format_utc(group['backlog_max_at'].replace(microsecond=0))}"


def _backlog_notes(group: Group) -> Iterable[str]:
    """Return what the numbers of the backlog do not count, or count too much."""
    if group["lag_quality"] == LagQuality.UNFILTERED:
        yield "with the messages that the subscription skips (unfiltered)"
    if group["stranded"]:
        yield f"{group['stranded']:,} stranded"
    if group["unknown_queues"]:
        yield f"{count(group['unknown_queues'], 'queue')} unknown"
    if group.get("backlog_is_minimum"):
        yield "without messages that clients hold"


def _utilization(group: Group) -> str:
    """Of all members, and of the one that is nearest to its limit; how many more messages a second that leaves."""
    if group["utilization"] is None:
        return UNKNOWN
    busiest = f"busiest {percent_text(group['busiest_utilization'])} of its {group['busiest_bottleneck']}"
    headroom = rate_text(group["headroom_messages_per_second"])
    return f"{percent_text(group['utilization'])} ({busiest}), headroom {headroom}/s"


def _oldest(group: Group) -> str:
    """Age of the oldest message not consumed, at its highest; null where nothing waited, or nothing is known."""
    age = group["oldest_message_ms"]
    if age is None:
        return UNKNOWN if group["backlog_end"] is None else "-"
    return duration_text(timedelta(milliseconds=age))
