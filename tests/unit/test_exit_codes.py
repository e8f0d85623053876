"""The exit codes of the commands that find something: by what they show, and by how much of it is known. No Spark."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import ALLOCATIONS, FINDINGS, QUEUE_PROGRESS, REBALANCE_INTERVALS
from spark_jobs.api import warehouse as api
from spark_jobs.cli import questions
from spark_jobs.cli.commands import COMMANDS
from spark_jobs.cli.exit_codes import exit_code, run_exit_code
from spark_jobs.cli.handbook import PAGE
from spark_jobs.cli.main import EXIT_CODES, list_of_exit_codes
from spark_jobs.domain.coverage import NO_COVERAGE, Coverage, GroupCoverage, Seen, SilentTime
from spark_jobs.errors import ExitCode
from spark_jobs.pipeline.run_record import RunRecord
from tests.support.commands import Typed
from tests.support.covered import published, row
from tests.support.published import key
from tests.support.rows import allocation, finding, interval, member, progress
from tests.support.snapshots import sighting
from tests.support.tables import described
from tests.support.times import at

#: A finding of the severity lasts the whole hour. INFO opens no incident.
SITUATION = """
    all was seen, and nothing is wrong | whole         | ERROR | 0 0 0 0
    INFO                               | INFO          | ERROR | 0 0 0 0
    INFO, and it counts                | INFO          | INFO  | 1 0 1 1
    WARN                               | WARN          | ERROR | 2 2 2 2
    WARN, and it counts                | WARN          | WARN  | 1 1 1 1
    WARN, and nothing counts           | WARN          | NEVER | 2 2 2 2
    ERROR                              | ERROR         | ERROR | 1 1 1 1
    ERROR, and nothing counts          | ERROR         | NEVER | 2 2 2 2
    a half was seen                    | half          | ERROR | 2 2 2 2
    … and WARN                         | half WARN     | WARN  | 1 1 1 1
    … and nothing counts               | half          | NEVER | 2 2 2 2
    nothing is recorded any more       | silent        | ERROR | 1 1 1 1
    … and nothing counts               | silent        | NEVER | 2 2 2 2
    another group was not audited      | unaudited     | ERROR | - 2 2 0
    … and INFO counts                  | unaudited     | INFO  | - 2 2 0
    … and ERROR                        | unaudited ERROR | ERROR | - 1 1 1
    the data are three hours old       | old           | ERROR | - 2 2 0
    … and ERROR                        | old ERROR     | ERROR | - 1 1 1
"""
#: Seconds of the hour without snapshots.
MISSING = {"half": "0..1800", "silent": "1800..3600"}


def audited(warehouse: Path, words: list[str]) -> list[str]:
    """The hour of 10:00 as a run published it, and the severities of its findings."""
    of_group = interval(0, 3600, member("c1")) | key("g")
    owner = {"client_id": "c1", "client_addr": "10.0.0.1:1"}
    queues = ("a:0", "a:1")
    missing = next((MISSING[word] for word in words if word in MISSING), "")
    severities = [word for word in words if word in ("INFO", "WARN", "ERROR")]
    tables = {
        REBALANCE_INTERVALS: [of_group],
        ALLOCATIONS: [allocation(of_group, queue, owner) | key("g") for queue in queues],
        QUEUE_PROGRESS: [progress(of_group, queue) | key("g") for queue in queues],
        FINDINGS: [finding(**key("g"), severity=each, finding_id=each) for each in severities],
    }
    if missing:
        start, end = (at(int(second)) for second in missing.split(".."))
        named = {"conflicting_values": [{"name": "membership_snapshots", "client_ids": None}]}
        gap = {"rule": "UNOBSERVED", "cause": "NO_SNAPSHOTS", "severity": "INFO", "evidence": named}
        time = {"started_at": start, "ended_at": end, "finding_id": "gap"}
        tables[FINDINGS] += [finding(**key("g"), **gap, **time)]
    seen = [sighting(0, 3540, consumer_group=name) for name in ("g", "h")] if "unaudited" in words else []
    rows = [row("g", 0, missing)] if "unaudited" in words else [row("g", 0, missing), row("*", 0, missing)]
    published(warehouse, rows, seen, tables)
    return severities


def clock_at(moment: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands take this time for now."""

    def opened(*arguments: Any) -> api.AuditedWarehouse:
        return replace(api.open_warehouse(*arguments), clock=lambda: moment)

    monkeypatch.setattr(questions, "open_warehouse", opened)


@pytest.mark.parametrize(("words", "fail_on", "codes"), described(SITUATION))
def test_exit_codes(
    words: str, fail_on: str, codes: str, tmp_path: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of run, incidents, status and explain. `explain` is about one moment of one group."""
    severities = audited(tmp_path, words.split())
    clock_at(at(4 * 3600 if "old" in words else 3600), monkeypatch)
    of_run, *others = codes.split()
    if of_run != "-":
        covered = api.open_warehouse(tmp_path).coverage(since=at(0), until=at(3600))
        record = RunRecord({}, [], Counter(severities), coverage=covered)
        assert run_exit_code(record, fail_on) == int(of_run)
    commands = ("incidents", "status", "explain --group g --at 2026-03-01T10:20")
    for command, code in zip(commands, others, strict=True):
        typed(f"{command} --fail-on {fail_on}", warehouse=tmp_path, code=int(code))
        typed(f"{command} --fail-on {fail_on} --json", warehouse=tmp_path, code=int(code))


WHOLE = Coverage(None, [GroupCoverage("c", "g", Seen.WHOLE, 1.0, 3600.0)])
COVERAGES: Mapping[str, Coverage] = {
    "whole": WHOLE,
    "part": replace(WHOLE, groups=[WHOLE.groups[0]._replace(seen=Seen.IN_PART, share=0.5)]),
    "silent": replace(WHOLE, silent=[SilentTime("c", 0, 1)]),
    "nothing": NO_COVERAGE,
}


@pytest.mark.parametrize(
    ("severities", "covered", "fail_on", "doubtful", "code"),
    [
        ("", "whole", "INFO", False, ExitCode.CLEAN),
        ("INFO", "whole", "ERROR", False, ExitCode.CLEAN),
        ("INFO", "whole", "WARN", False, ExitCode.CLEAN),
        ("INFO", "whole", "INFO", False, ExitCode.FINDINGS),
        ("INFO WARN", "whole", "ERROR", False, ExitCode.WARNINGS),
        ("WARN", "whole", "WARN", False, ExitCode.FINDINGS),
        ("WARN ERROR", "whole", "ERROR", False, ExitCode.FINDINGS),
        ("ERROR", "whole", "INFO", False, ExitCode.FINDINGS),
        ("ERROR", "whole", "NEVER", False, ExitCode.WARNINGS),
        ("INFO", "whole", "NEVER", False, ExitCode.CLEAN),
        # Rows in quarantine, or an expectation that failed and is not critical.
        ("", "whole", "ERROR", True, ExitCode.WARNINGS),
        ("INFO", "whole", "WARN", True, ExitCode.WARNINGS),
        ("ERROR", "whole", "ERROR", True, ExitCode.FINDINGS),
        ("", "part", "INFO", False, ExitCode.WARNINGS),
        ("WARN", "part", "WARN", False, ExitCode.FINDINGS),
        ("", "nothing", "INFO", False, ExitCode.WARNINGS),
        ("", "silent", "ERROR", False, ExitCode.FINDINGS),
        ("", "silent", "INFO", False, ExitCode.FINDINGS),
        ("", "silent", "NEVER", False, ExitCode.WARNINGS),
    ],
)
def test_one_function_gives_them(severities: str, covered: str, fail_on: str, doubtful: bool, code: ExitCode) -> None:
    assert exit_code(severities.split(), fail_on, COVERAGES[covered], doubtful=doubtful) is code


def test_a_run_that_observed_nothing_is_doubtful() -> None:
    record = RunRecord({}, [], {}, observed=False, coverage=WHOLE)
    assert run_exit_code(record, "ERROR") is ExitCode.WARNINGS
    assert run_exit_code(replace(record, observed=True), "ERROR") is ExitCode.CLEAN


def test_a_warehouse_without_any_group_is_no_clean_answer(tmp_path: Path, typed: Typed) -> None:
    published(tmp_path, [row("*", 0)])
    for command, code in (("incidents", 2), ("status", 2), ("explain --group g --at 2026-03-01T10:20", 3)):
        typed(command, warehouse=tmp_path, code=code)


def test_help_and_docs_have_the_same_codes() -> None:
    """With every word that decides one."""
    assert [*EXIT_CODES] == [*ExitCode]
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition("## Exit codes\n")[2].partition("\n## ")[0]
    shown = " ".join(list_of_exit_codes().split())
    for code, meaning in EXIT_CODES.items():
        assert f"- `{code.value}`: {meaning}\n" in section
        assert f"{code.value} {meaning.replace('`', '')}" in shown
    for words in ("nothing is recorded of a cluster", "--fail-on"):
        assert words in EXIT_CODES[ExitCode.FINDINGS]
    for words in ("unknown", "too old", "not audited", "complete_share", "quarantine"):
        assert words in EXIT_CODES[ExitCode.WARNINGS]
    for name in ("run", "incidents", "status", "explain", "backfill", "late"):
        assert COMMANDS[name].options["--fail-on"] == "ERROR"
