"""Audit whole steps and show the incidents."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from spark_jobs.cli.commands.incidents import show_incidents
from spark_jobs.cli.documents import answered, coverage_document
from spark_jobs.cli.exit_codes import run_exit_code
from spark_jobs.cli.questions import opened, show_coverage
from spark_jobs.cli.tables import Column, known, show_rows, table
from spark_jobs.cli.terminal import SEVERITY_STYLES, print_to_stderr, printable, show_next
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import duration_text, format_utc
from spark_jobs.domain.model.severities import WORST_FIRST
from spark_jobs.domain.phrases import count, number_text
from spark_jobs.pipeline.run_record import RunRecord
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.show.text.incident_text import worst_first
from spark_jobs.show.text.phrases import severity_counts
from spark_jobs.store.location import Location


def run_command(arguments: Namespace) -> int:
    """The `run_exit_code` of one run."""
    spec = RunSpec(arguments.interval, arguments.cluster, arguments.group, arguments.topic)
    with opened(arguments) as warehouse:
        result, incidents = warehouse.audit(spec, scale=arguments.scale)
    if not answered(arguments, run_document(result)):
        show_result(result, warehouse.location, None if arguments.findings else incidents)
    show_warnings(result)
    if not arguments.json:
        show_next("report", arguments.warehouse, interval=str(arguments.interval))
    return run_exit_code(result, arguments.fail_on)


def run_document(result: RunRecord) -> dict[str, Any]:
    """A run for `as_json`."""
    names = ("run", "findings", "warnings", "quality_warnings", "observed")
    return {name: getattr(result, name) for name in names} | {"coverage": coverage_document(result.coverage)}


def show_result(result: RunRecord, warehouse: Location, incidents: Sequence[Incident] | None) -> None:
    """Show the incidents, or the findings of the run where there are none given, and where the tables are."""
    if incidents is None:
        show_findings(Console(), result.findings)
        show_coverage(result.coverage)
    else:
        show_incidents(Console(), worst_first(incidents), result.coverage)
    print(f"The tables are in {printable(warehouse.location)}")


def show_warnings(result: RunRecord) -> None:
    """Print what the reader should know of what was not audited, on stderr."""
    for warning in result.warnings + result.quality_warnings:
        print_to_stderr(f"warning: {warning}")


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

    def drawn() -> Group:
        return Group(_table(findings, console.width), Text(), _advice(findings))

    show_rows(console, findings, drawn, _line, findings_text(counts) + silenced_text)


def findings_text(counts: Mapping[str, int]) -> str:
    """How many findings there are, by severity: `3 findings: 1 ERROR, 2 INFO`."""
    number = sum(counts.values())
    severities = ", ".join(severity_counts(counts))
    return f"{number} finding{'' if number == 1 else 's'}: {severities}" if severities else "No findings."


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
