"""What a person sees: findings as a table (plain lines where nobody watches), and progress on stderr.

Names come from clients and may hold anything: no control character, and no markup, reaches the terminal raw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from typing import Any

from rich.box import HORIZONTALS
from rich.console import Console, Group
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from spark_jobs.domain.intervals import duration_text as duration_text
from spark_jobs.domain.intervals import format_utc
from spark_jobs.words import number_text

Finding = Mapping[str, Any]

SEVERITY_STYLES = {"ERROR": "bold red", "WARN": "yellow", "INFO": "cyan"}
_SEVERITIES = tuple(SEVERITY_STYLES)


def printable(text: str) -> str:
    """The text with every character that could steer a terminal (or hide) written as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_line(console: Console, text: str) -> None:
    """The text as one line, as it is: no markup, no emoji codes, nothing that could steer a terminal."""
    console.print(Text(printable(text)), soft_wrap=True)


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """The findings, worst first, then what to do; one line per finding where the console is no terminal."""
    findings = sorted(findings, key=lambda f: (_SEVERITIES.index(f["severity"]), f["start"], f["consumer_group"]))
    if findings and console.is_terminal:
        console.print(_table(findings), Text(), _advice(findings), sep="\n")
    else:
        for finding in findings:
            print_line(console, _line(finding))
    console.print(findings_text(Counter(finding["severity"] for finding in findings)), highlight=False)


@contextmanager
def progress_on(console: Console) -> Iterator[Callable[[str], None]]:
    """A function that says what is being done: a spinner with its time on a terminal, else one line each."""
    if not console.is_terminal:
        yield lambda message: print_line(console, message)
        return
    columns = (
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as display:

        def done() -> None:
            for task in display.task_ids:
                display.update(task, total=1, completed=1)

        def say(message: str) -> None:
            done()
            display.add_task(printable(message), total=None)

        yield say
        done()


def _table(findings: Sequence[Finding]) -> Table:
    dated = len({moment.astimezone(UTC).date() for f in findings for moment in (f["start"], f["end"])}) > 1
    day = "" if dated else f" of {findings[0]['start'].astimezone(UTC):%Y-%m-%d}"
    table = titled_table(f"Findings{day} (UTC)", show_lines=True)
    table.add_column("", no_wrap=True)
    table.add_column("rule\ncause", no_wrap=True)
    table.add_column("group\ntopic\nsubject", overflow="fold")
    table.add_column("from – to\nduration", no_wrap=True)
    table.add_column("messages\npiled up", justify="right", no_wrap=True)
    for number, finding in enumerate(findings, start=1):
        table.add_row(*_cells(number, finding, dated))
    return table


def _cells(number: int, finding: Finding, dated: bool) -> Iterable[Text]:
    severity, backlog = finding["severity"], finding["evidence"]["backlog_max"]
    start, end = (finding[name].astimezone(UTC) for name in ("start", "end"))
    form, dash = ("%m-%d %H:%M:%S", " –\n") if dated else ("%H:%M:%S", "–")
    yield Text.assemble((severity, SEVERITY_STYLES[severity]), (f"\n#{number}", "dim"))
    yield stacked(finding["rule"], finding["cause"])
    yield stacked(finding["consumer_group"], finding["topic"], finding["subject"])
    yield Text.assemble(f"{start:{form}}{dash}{end:{form}}", (f"\n{duration_text(end - start)}", "dim"))
    yield Text(number_text(backlog), style="dim" if backlog is None else "")


def titled_table(title: str, *, show_lines: bool = False) -> Table:
    """An empty table as all of ours look."""
    table = Table(title=title, title_justify="left", box=HORIZONTALS, show_lines=show_lines)
    table.pad_edge, table.padding = False, (0, 1, 0, 0)
    return table


def stacked(first: str, *below: str | None) -> Text:
    """A cell of a table: the first line, and below it, dim, the others."""
    return Text.assemble(printable(first), *(("\n" + printable(text), "dim") for text in below if text))


def _advice(findings: Sequence[Finding]) -> Group:
    """Every advice once, after the numbers of the findings it is for."""
    numbers: dict[str, list[str]] = {}
    for number, finding in enumerate(findings, start=1):
        numbers.setdefault(finding["advice"], []).append(str(number))
    lines = (Text.assemble(("#" + ", #".join(of), "bold"), "  ", printable(text)) for text, of in numbers.items())
    return Group(Text("What to do", style="bold"), *lines)


def _line(finding: Finding) -> str:
    backlog = finding["evidence"]["backlog_max"]
    words = (
        finding["severity"],
        finding["rule"],
        f"cluster={finding['cluster']}",
        f"group={finding['consumer_group']}",
        f"topic={finding['topic'] or '-'}",
        f"subject={finding['subject']}",
        f"{format_utc(finding['start'])}/{format_utc(finding['end'])}",
        f"({duration_text(finding['end'] - finding['start'])})",
        f"cause={finding['cause'] or '-'}",
        f"piled_up={'unknown' if backlog is None else backlog}",
        f"advice: {finding['advice']}",
    )
    return " ".join(words)


def findings_text(counts: Mapping[str, int]) -> str:
    """How many findings there are, by severity: `3 findings: 1 ERROR, 2 INFO`."""
    number = sum(counts.values())
    told = ", ".join(f"{counts[severity]} {severity}" for severity in _SEVERITIES if counts.get(severity))
    return f"{number} finding{'' if number == 1 else 's'}: {told}" if told else "No findings."


def show_steps(console: Console, steps: Iterable[tuple[str, str]]) -> None:
    """What to try next: what it is for, and below it the command, ready to be copied."""
    console.print(Text("\nTry next", style="bold"))
    for purpose, command in steps:
        console.print(Text(f"# {purpose}", style="dim"))
        console.print(Text(command), soft_wrap=True)
