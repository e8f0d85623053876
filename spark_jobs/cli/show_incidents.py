"""Incidents and findings for people, as tables with advice or as plain lines."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from spark_jobs.cli.tables import Column, known, severity_text, show_rows, show_table, table
from spark_jobs.cli.terminal import SEVERITY_STYLES, local, print_line, printable, zone_name
from spark_jobs.domain.coverage import Coverage
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import count, number_text
from spark_jobs.show.text.incident_text import attention, deletion_text, incidents_text, peak_text
from spark_jobs.show.text.phrases import severity_counts

#: Groups named in a plain line; more are counted.
_NAMED = 3
#: So much of an id is enough for `--id`.
_ID = 8
#: By `--sort`, what comes first is greatest.
ORDERS: Mapping[str, Callable[[Incident], Any]] = {
    "worst": attention,
    "newest": lambda incident: incident.opened_at,
    "oldest": lambda incident: -incident.opened_at,
    "longest": lambda incident: incident.last_seen_at - incident.opened_at,
    "peak-backlog": lambda incident: -1 if incident.peak_backlog_messages is None else incident.peak_backlog_messages,
}


def show_incidents(console: Console, incidents: Sequence[Incident], coverage: Coverage) -> None:
    """A line for each incident, in the order given, and what the answer stands on if there is none, or if it is not
    about the whole.
    """
    title = f"Incidents ({zone_name()})"
    show_table(console, title, [*_columns(incidents)], incidents, incidents_text(incidents, coverage))
    for sentence in coverage.lacks():
        print_line(console, sentence)


def _columns(incidents: Sequence[Incident]) -> Iterator[Column[Incident]]:
    yield Column("", lambda incident: severity_text(incident.severity), "{}", fixed=True)
    yield Column("rule", lambda incident: incident.rule, _rule, fixed=True)
    if len({incident.cluster for incident in incidents}) > 1:
        yield Column("cluster", lambda incident: incident.cluster, "cluster={}", fold=True)
    yield Column("group", _first_group, lambda _: "", fold=True)
    if any(incident.teams for incident in incidents):
        yield Column("team", lambda incident: ",".join(incident.teams), _teams, fold=True)
    yield from _COLUMNS


def _rule(incident: Incident) -> str:
    groups = incident.consumer_groups
    return f"{incident.rule} {_named('group', groups) if len(groups) <= _NAMED else f'groups={len(groups)}'}"


def _first_group(incident: Incident) -> tuple[str, str | None]:
    more = len(incident.consumer_groups) - 1
    return incident.consumer_groups[0], f"and {more:,} more" if more else None


def _teams(incident: Incident) -> str:
    return _named("team", incident.teams)


def _named(name: str, names: Sequence[str]) -> str:
    return f"{name}{'s' if len(names) > 1 else ''}={','.join(names)}" if names else ""


def _since(incident: Incident) -> str:
    return f"since={second_text(incident.opened_at)}"


def _lasted(incident: Incident) -> str:
    lasted = duration_text(timedelta(microseconds=incident.last_seen_at - incident.opened_at))
    if incident.resolved_at is None:
        return f"{lasted}, open"
    return f"{lasted}, deleted" if deletion_text(incident.resolution) else lasted


_COLUMNS: tuple[Column[Incident], ...] = (
    Column(
        "since", lambda incident: f"{local(from_micros(incident.opened_at)):%m-%d %H:%M}", _since, fixed=True, drop=1
    ),
    Column("lasted", _lasted, "({})", fixed=True, drop=2),
    Column(
        "peak\nbacklog",
        lambda incident: known(peak_text(incident)),
        right=True,
        fixed=True,
        drop=3,
    ),
    Column("id", lambda incident: incident.incident_id[:_ID], "id={}", fixed=True),
    Column("what happened", lambda incident: incident.headline, "{}", cut=True, drop=4),
)


#: A row of `findings`.
Finding = Mapping[str, Any]


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """The findings, worst first, silenced ones last, then what to do; one line each if the console is no terminal."""
    findings = sorted(
        findings,
        key=lambda f: (
            bool(f["silenced_because"]),
            WORST_FIRST.index(f["severity"]),
            f["started_at"],
            f["consumer_group"],
        ),
    )
    counts = Counter(finding["severity"] for finding in findings if not finding["silenced_because"])
    silenced = sum(1 for finding in findings if finding["silenced_because"])
    silenced_text = f"; {count(silenced, 'finding')} silenced" if silenced else ""
    show_rows(console, findings, lambda: _drawn(findings, console.width), _line, findings_text(counts) + silenced_text)


def findings_text(counts: Mapping[str, int]) -> str:
    """How many findings there are, by severity: `3 findings: 1 ERROR, 2 INFO`."""
    number = sum(counts.values())
    severities = ", ".join(severity_counts(counts))
    return f"{number} finding{'' if number == 1 else 's'}: {severities}" if severities else "No findings."


def _drawn(findings: Sequence[Finding], width: int) -> Group:
    return Group(_table(findings, width), Text(), _advice(findings))


def _table(findings: Sequence[Finding], width: int) -> RenderableType:
    dated = len({moment.astimezone(UTC).date() for f in findings for moment in (f["started_at"], f["ended_at"])}) > 1
    day = "" if dated else f" of {findings[0]['started_at'].astimezone(UTC):%Y-%m-%d}"
    columns: tuple[Column[tuple[int, Finding]], ...] = (
        Column("", lambda row: _severity(*row), fixed=True),
        Column("rule\ncause", lambda row: (row[1]["rule"], row[1]["cause"]), fixed=True),
        Column("group\ntopic\nsubject", lambda row: _subject(row[1]), fold=True),
        Column("from – to\nduration", lambda row: _span(row[1], dated), fixed=True),
        Column(
            "peak\nbacklog",
            lambda row: known(number_text(row[1]["evidence"]["backlog_max"])),
            right=True,
            fixed=True,
        ),
    )
    return table(f"Findings{day} (UTC)", columns, [*enumerate(findings, start=1)], width, ruled=True)


def _severity(number: int, finding: Finding) -> Text:
    text = "silenced" if finding["silenced_because"] else finding["severity"]
    return Text.assemble((text, SEVERITY_STYLES.get(text, "dim")), (f"\n#{number}", "dim"))


def _subject(finding: Finding) -> tuple[str | None, ...]:
    team = f"team {finding['team']}" if finding["team"] else None
    return finding["consumer_group"], finding["topic"], finding["subject"], team


def _span(finding: Finding, dated: bool) -> Text:
    start, end = (finding[name].astimezone(UTC) for name in ("started_at", "ended_at"))
    form, dash = ("%m-%d %H:%M:%S", " –\n") if dated else ("%H:%M:%S", "–")
    return Text.assemble(f"{start:{form}}{dash}{end:{form}}", (f"\n{duration_text(end - start)}", "dim"))


def _advice(findings: Sequence[Finding]) -> Group:
    """Every advice once, after the numbers of the findings it is for."""
    numbers: dict[str, list[str]] = {}
    for number, finding in enumerate(findings, start=1):
        numbers.setdefault(finding["advice"], []).append(str(number))
    lines = (Text.assemble(("#" + ", #".join(of), "bold"), "  ", printable(text)) for text, of in numbers.items())
    return Group(Text("What to do", style="bold"), *lines)


def _line(finding: Finding) -> str:
    parts = (
        finding["severity"],
        finding["rule"],
        f"group={finding['consumer_group']}",
        *((f"team={finding['team']}",) if finding["team"] else ()),
        f"since={format_utc(finding['started_at'].replace(microsecond=0))}",
        f"({duration_text(finding['ended_at'] - finding['started_at'])})",
        *((finding["topic"],) if finding["topic"] else ()),
        f"{finding['subject']}: {finding['advice']}",
        *((f"silenced: {finding['silenced_because']}",) if finding["silenced_because"] else ()),
    )
    return " ".join(parts)
