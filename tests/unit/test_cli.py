"""The command line, as far as it goes without Spark: parsing, exit codes, what is printed and what is not."""

import json
import os
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from rich.console import Console

import rebalance_audit
from schemas import FINDINGS
from spark_jobs.capture.jars import ROCKETMQ
from spark_jobs.cli.commands import COMMANDS, GROUPS, Command, function_named, handler_of
from spark_jobs.cli.commands.backfill import bar_on, show_backfill
from spark_jobs.cli.commands.demo import show_next_steps
from spark_jobs.cli.commands.validate import show_failures
from spark_jobs.cli.documents import as_json
from spark_jobs.cli.environment import filters_from_environment, with_environment
from spark_jobs.cli.exit_codes import run_exit_code, steps_exit_code
from spark_jobs.cli.main import build_parser
from spark_jobs.cli.options import OPTIONS
from spark_jobs.cli.terminal import QUIET, own_command, printable, progress_on, show_next
from spark_jobs.domain.coverage import NO_COVERAGE, Coverage, GroupCoverage, Seen
from spark_jobs.domain.model.intervals import Interval, StepGrid, duration_text
from spark_jobs.errors import ExitCode, PublishConflictError, QualityError, SetupError, WarehouseError
from spark_jobs.installation import ROOT
from spark_jobs.operate.backfill import Filling, Outcome
from spark_jobs.operate.missing import MissingStep, RecordedSteps
from spark_jobs.pipeline.run_record import RunRecord, reported_severities
from tests.support.commands import Typed
from tests.support.consoles import cells, shown
from tests.support.fakes import FakeAdmin, broker_answers, brokers, offset_table
from tests.support.rows import finding as published_finding

HOUR = "2026-11-21T02:00/2026-11-21T03:00"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_of_the_help_parses(command: str, typed: Typed) -> None:
    examples = re.findall(r"^  rebalance-audit (.*)$", typed(f"{command} --help").out, re.MULTILINE)
    assert examples, "a command without an example"
    for example in examples:
        assert build_parser().parse_args(shlex.split(example)).name == command


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("staus", "there is no command staus: did you mean status or"),
        ("xyzzy", "there is no command xyzzy: rebalance-audit --help lists them"),
        ("ingest --warehouse w", "ingest needs a recording, or --logs"),
        ("ingest --logs l --warehouse w", "--logs needs --cluster-name"),
        (f"run --interval {HOUR}", "the following arguments are required: --warehouse"),
        ("run --warehouse w", "the following arguments are required: --interval"),
        (f"run --warehouse w --interval {HOUR} --fail-on FATAL", "invalid choice: 'FATAL'"),
        (f"run --ware w --interval {HOUR}", "run has no option --ware: did you mean --warehouse or"),
        ("run --warehouse w --interval 2026-11-21T02:00", "is not an interval: write START/END"),
        ("run --warehouse w --interval 2026-11-21/2026-11-21", "is empty"),
        ("run --warehouse w --interval 2026-11-22/2026-11-21", "is reversed"),
        ("run --warehouse w --interval 2026-11-21T02:30/2026-11-21T03:00", "is off the grid"),
        (f"run --warehouse w --interval {HOUR} --config no.yaml", "no.yaml: cannot be read"),
        (f"run --warehouse= --interval {HOUR}", "the warehouse is empty"),
        ("backfill --warehouse w", "backfill needs --interval, or --only-missing for all missing steps"),
        (f"backfill --warehouse w --interval {HOUR} --most 2", "--most is about missing steps: give --only-missing"),
        ("backfill --warehouse w --interval 2026-11-21/2026-11-21", "is empty"),
        ("backfill --warehouse w --interval 2026-11-21/2026-11-22 --jobs 17", "from 1 to 16"),
        ("backfill --warehouse w --interval 2026-11-21/2026-11-21T02:30", "is off the grid"),
        (f"backfill --warehouse w --interval {HOUR} --jobs 0", "'0' is not a whole number from 1 to 16"),
        (f"backfill --warehouse w --interval {HOUR} --group g", "backfill has no option --group: did you mean --"),
        ("status --group g", "the following arguments are required: --warehouse"),
        ("status --warehouse w --at 2026-11-21T02:10", "status has no option --at: did you mean --"),
        ("status --warehouse w --qqqqqq=1", "status has no option --qqqqqq: rebalance-audit status --help lists them"),
        ("explain --warehouse w --at 2026-11-21T02:10", "the following arguments are required: --group"),
        ("explain --warehouse w --group g", "the following arguments are required: --at"),
        ("explain --warehouse w --group g --at yesterday", "'yesterday' is not a time: write it as 2026-11-21T02:00"),
        ("validate", "one of the arguments --warehouse --store is required"),
        ("verify r", "the following arguments are required: --warehouse"),
        (
            "validate --warehouse w --table audit_runs",
            "there are no expectations for a table audit_runs; the tables with expectations are membership_snapshots, "
            "route_snapshots",
        ),
        ("validate --warehouse w --interval 2026-11-21T02:30/2026-11-21T03:00", "is off the grid"),
        ("trends --warehouse w --days 0", "argument --days: '0' is not a whole number from 1 to 366"),
        ("trends --warehouse w --days x", "argument --days: 'x' is not a whole number from 1 to 366"),
        ("capture --namesrv n:1 --cadence never", "argument --cadence: 'never' is not a length of time up to"),
        ("capture --namesrv n:1 --stacks-after no", "argument --stacks-after: 'no' is not a length of time up to"),
        ("capture --namesrv n:1 --cadence 0s", "argument --cadence: '0s' is not a length of time up to 100 years: wri"),
        ("capture --namesrv n:1 --rate 0", "argument --rate: '0' is not a whole number above 0"),
        ("capture --namesrv n:1 --groups [", "argument --groups: '[' is not a regular expression: unterminated char"),
        ("maintain --warehouse w --retention-days x", "argument --retention-days: 'x' is not a whole number from 1 to"),
        ("incidents --warehouse w --severity CRITICAL", "invalid choice: 'CRITICAL' (choose from INFO, WARN, ERROR)"),
        ("incidents --warehouse w --severity eror", "(choose from INFO, WARN, ERROR): did you mean ERROR?"),
        ("sql source --warehouse w", "invalid choice: 'source' (choose from sources, views): did you mean sources?"),
        ("status", "are required: --warehouse; the environment can set REBALANCE_AUDIT_WAREHOUSE"),
        ("report --warehouse w", "; the environment can set REBALANCE_AUDIT_INTERVAL or REBALANCE_AUDIT_LAST"),
        ("incidents --warehouse w --last 9999999w", "'9999999w' is not a length of time up to 100 years"),
        ("incidents --warehouse w --interval 0001-01-01/2026-03-02", "'0001-01-01' is not a time from 1970 to 9998"),
        ("explain --warehouse w --group g --at 0001-01-01T00:00+01:00", "'0001-01-01T00:00+01:00' is not a time"),
        ("status --warehouse w --sort newest", "argument --sort: invalid choice: 'newest' (choose from"),
        ("incidents --warehouse w --sort backlog", "argument --sort: invalid choice: 'backlog' (choose from"),
        ("incidents --warehouse w --rule HUNG", "there is no rule HUNG: did you mean CLIENT_HUNG?"),
        ("incidents --warehouse w --last 1h --interval 2026-03-01/2026-03-02", "not allowed with argument --last"),
        ("incidents --warehouse w --json --format csv", "--format: not allowed with argument --json"),
        ("incidents --warehouse w --last soon", "'soon' is not a length of time up to 100 years: write it as 20s, 10m"),
        ("incidents --warehouse w --tz Berlin", "there is no time zone Berlin: did you mean Europe/Berlin?"),
        ("report --warehouse w", "one of the arguments --interval --last is required"),
    ],
)
def test_wrong_usage_exits_with_3(line: str, message: str, typed: Typed) -> None:
    out, err = typed(line, code=3)
    last = err.splitlines()[-1]
    assert (out, message in last, len(last) < 500) == ("", True, True), err


@pytest.mark.parametrize("option", [name for name, how in OPTIONS.items() if {"type", "choices"} & how.keys()])
def test_no_option_reports_a_wrong_value_by_names_of_the_code(
    option: str, typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)  # where a warehouse of the name "?" is locked
    name, command = next((name, command) for name, command in COMMANDS.items() if option in command.options)
    given = [f"{other}=?" for other in command.required.split() if other.startswith("--") and other != option]
    err = typed(name, f"{option}=?" if option.startswith("--") else "?", *given, code=(0, 2, 3)).err
    assert not re.search(r"invalid \w+ value|<\w+|this is a bug", err), err


def test_the_exit_codes_of_the_help_are_those_of_the_page(monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- `(\d)`: (.*)$", page.partition("## Exit codes")[2].partition("\n## ")[0], re.MULTILINE)
    expected = [f"{code} {meaning.replace('`', '')}" for code, meaning in listed]
    assert len(expected) == len(ExitCode)
    for name in ("", *COMMANDS):
        shown = typed(f"{name} --help").out.partition("exit codes:\n")[2]
        assert [" ".join(entry.split()) for entry in re.split(r"\n(?=  \d )", shown)] == expected, name


def test_without_arguments_the_help_lists_every_command_in_its_group(
    monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    help_text = typed("").out
    assert typed("--help").out == help_text
    listed = re.findall(r"^  ([a-z][a-z-]+) ", help_text, re.MULTILINE)
    assert listed == [name for names in GROUPS.values() for name in names.split()]
    assert sorted(listed) == sorted(COMMANDS)
    assert "\nRecord and load:\n  capture    Record what" in help_text
    assert help_text.startswith("Usage: rebalance-audit COMMAND [OPTION ...]\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(shell: str, typed: Typed) -> None:
    assert "rebalance-audit" in typed(f"--completion {shell}").out == typed(f"--completion={shell}").out
    assert "(choose from bash, zsh, fish)" in typed("--completion csh", code=3).err


@pytest.mark.parametrize(("words", "expected"), [("sta", "status "), ("status --sort pe", "peak-backlog ")])
def test_bash_completes_commands_options_and_their_values(words: str, expected: str, tmp_path: Path) -> None:
    called = tmp_path / "rebalance-audit"
    called.write_text(f'#!/bin/bash\nexec {sys.executable} -m spark_jobs.cli "$@"\n')
    called.chmod(0o755)
    script = """
        eval "$(rebalance-audit --completion bash)"
        COMP_LINE="rebalance-audit $WORDS" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
        _python_argcomplete rebalance-audit
        echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "WORDS": words}
    shown = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=True).stdout
    assert shown == f"{expected}\n"


def test_the_version_is_that_of_the_package(typed: Typed) -> None:
    assert typed("--version").out == f"rebalance-audit {version('rebalance-audit')}\n"
    assert rebalance_audit.__version__ == version("rebalance-audit")


@pytest.mark.parametrize(
    ("text", "seconds"), [("1w", 604800), ("2d", 172800), ("1.5h", 5400), ("500s", 500), ("90", 90)]
)
def test_a_length_of_time_has_a_unit(text: str, seconds: float) -> None:
    assert build_parser().parse_args(["incidents", "--warehouse", "w", "--last", text]).last == seconds
    capture = vars(build_parser().parse_args(["capture", "--namesrv", "n:1", "--cadence", text, "--for", text]))
    assert [capture[name] for name in ("cadence", "for", "rate", "out")] == [seconds, seconds, 300, "recordings"]


@pytest.mark.parametrize(
    ("words", "seconds"), [("", 60.0), ("--stacks-after 5m", 300.0), ("--stacks-after never", None)]
)
def test_stacks_after_a_time_or_never(words: str, seconds: float | None) -> None:
    assert build_parser().parse_args(f"capture --namesrv n:1 {words}".split()).stacks_after == seconds


def test_quiet_leaves_only_the_answer(tmp_path: Path, typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    assert typed("examples --quiet --to", tmp_path).err == ""

    def speak() -> None:
        QUIET.set(True)
        show_next("status", "w")
        with progress_on() as say:
            say("loading")

    copy_context().run(speak)
    assert capsys.readouterr().err == ""


def command_raising(error: BaseException) -> Command:
    class Raising(Command):
        def execute(self, arguments: Namespace) -> int:
            raise error

    return Raising("", "")


BUG = "rebalance-audit: this is a bug: ZeroDivisionError: "


def noted(error: BaseException) -> BaseException:
    error.add_note("how to go on")
    return error


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (SetupError("no Java\x1b[2J"), 3, "rebalance-audit: no Java\\x1b[2J\n"),
        (KeyboardInterrupt(), 130, "rebalance-audit: interrupted; the published tables are as they were\n"),
        (noted(KeyboardInterrupt()), 130, "rebalance-audit: interrupted; how to go on\n"),
        (noted(ZeroDivisionError()), 4, f"{BUG}; --debug shows where\nrebalance-audit: how to go on\n"),
        (ZeroDivisionError("x\ny"), 4, f"{BUG}x; --debug shows where\n"),
    ],
)
def test_one_place_turns_errors_into_a_sentence_and_a_code(
    error: BaseException, code: int, message: str, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setattr("spark_jobs.cli.main.COMMANDS", {**COMMANDS, "fail": command_raising(error)})
    assert typed("fail", code=code) == ("", message)


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setattr("spark_jobs.cli.main.COMMANDS", {**COMMANDS, "fail": command_raising(ZeroDivisionError("x"))})
    assert "in execute\n    raise error\n" in typed("fail --debug", code=4).err


def test_the_help_does_not_wait_for_spark() -> None:
    script = (
        "import sys; from spark_jobs.cli.main import main; main(['run', '--help']);"
        "print({'pyspark', 'pydantic', 'yaml', 'delta'} & sys.modules.keys(), file=sys.stderr)"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert answer.stderr == "set()\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_that_is_imported_later_is_there(name: str) -> None:
    assert callable(handler_of(name))
    assert not (check := COMMANDS[name].check) or callable(function_named(f"before:{check}"))


_THROUGH_RICH = "from spark_jobs.cli import main, terminal; from rich.console import Console"
_THROUGH_RICH += "; main.COMMANDS['version'].__class__.execute = lambda *_: terminal.print_line(Console(), 'x') or 0"


@pytest.mark.parametrize("program", ["-m spark_jobs.cli version", "-c {rich}"])
def test_nobody_reading_is_no_traceback(program: str) -> None:
    rich = shlex.quote(f"{_THROUGH_RICH}; raise SystemExit(main.main(['version']))")
    python = f"{shlex.quote(sys.executable)} {program.format(rich=rich)}"
    command = f"set -o pipefail; {python} | (exec <&-; sleep 1)"
    answer = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (141, "")


def audited(*quality_warnings: str, **findings: int) -> RunRecord:
    record = RunRecord({"run_id": "r1"}, [], findings, ["AVG was assumed\x1b"], [*quality_warnings])
    return replace(record, coverage=Coverage(None, [GroupCoverage("c", "g", Seen.WHOLE, 1.0, 3600.0)]))


STEPS = list(StepGrid(timedelta(hours=1)).steps(Interval.parse("2026-11-21T02:00/2026-11-21T05:00")))
HELD, REJECTED, WRONG = PublishConflictError("run\x1b x\nholds it"), QualityError("closed"), WarehouseError("no table")


@pytest.mark.parametrize(
    ("outcomes", "fail_on", "code"),
    [
        ([], "ERROR", ExitCode.CLEAN),
        ([audited(INFO=1)], "ERROR", ExitCode.CLEAN),
        ([audited(), audited(WARN=2)], "ERROR", ExitCode.WARNINGS),
        ([audited("in quarantine"), audited()], "ERROR", ExitCode.WARNINGS),
        ([replace(audited(INFO=102), observed=False)], "ERROR", ExitCode.WARNINGS),
        ([replace(audited(INFO=102), observed=False)], "INFO", ExitCode.FINDINGS),
        ([audited(), replace(audited(), coverage=NO_COVERAGE)], "ERROR", ExitCode.WARNINGS),
        ([audited(WARN=1), audited(ERROR=1)], "ERROR", ExitCode.FINDINGS),
        ([audited(WARN=1), audited()], "WARN", ExitCode.FINDINGS),
        ([audited(WARN=1), REJECTED], "ERROR", ExitCode.FINDINGS),
        ([audited(ERROR=1), WRONG], "ERROR", ExitCode.USAGE),
        ([audited(ERROR=1), WRONG, HELD], "ERROR", ExitCode.NOT_PUBLISHED),
    ],
)
def test_exit_code_of_a_backfill(outcomes: list[Outcome], fail_on: str, code: ExitCode) -> None:
    assert steps_exit_code(outcomes, fail_on) is code


@pytest.fixture
def backfilled(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a backfill is called with. It needs no Spark: its first step is published already, its third fails."""
    called: dict[str, Any] = {}

    def backfill(_: Any, __: Any, steps: Any, ___: Any, jobs: int, progress: Any) -> dict[Interval, Outcome]:
        called.update(steps=steps, jobs=jobs)
        progress(STEPS[1], "audited", True)
        progress(STEPS[2], "failed: it's\nheld", True)
        return {STEPS[1]: audited(ERROR=1, INFO=2), STEPS[2]: HELD}

    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: None)
    chosen = Filling(STEPS[1:], STEPS[:1], STEPS[:1], 7)
    monkeypatch.setattr("spark_jobs.cli.commands.backfill.filling", lambda *_: chosen)
    monkeypatch.setattr("spark_jobs.cli.commands.backfill.backfill", backfill)
    return called


MISSING = [MissingStep("eu", STEPS[0], None)]
#: Whether a remote store is there, only Spark is asked.
BACKFILL = "backfill --warehouse s3a://b/w --interval 2026-11-21T02:00/2026-11-21T05:00"


def test_a_backfill_leaves_out_published_steps_only_if_asked(backfilled: dict[str, Any], typed: Typed) -> None:
    typed(BACKFILL, code=4)
    assert backfilled == {"steps": STEPS, "jobs": 1}
    typed(f"{BACKFILL} --only-missing --jobs 2", code=4)
    assert backfilled == {"steps": STEPS[1:], "jobs": 2}


@pytest.mark.usefixtures("backfilled")
def test_a_backfill_prints_each_step_as_json(typed: Typed) -> None:
    printed = typed(f"{BACKFILL} --only-missing --json", code=4)
    run = {"run_id": "r1", "findings": {"ERROR": 1, "INFO": 2}, "warnings": ["AVG was assumed\x1b"]}
    audited = run | {"step": "2026-11-21T03:00:00Z/2026-11-21T04:00:00Z", "quality_warnings": [], "observed": True}
    failed = {"error": "PublishConflictError", "reason": "run\x1b x\nholds it", "exit_code": 4}
    assert printed.document == {
        "interval": "2026-11-21T02:00:00Z/2026-11-21T05:00:00Z",
        "audited": [audited],
        "left_out": ["2026-11-21T02:00:00Z/2026-11-21T03:00:00Z"],
        "rejected": ["2026-11-21T02:00:00Z/2026-11-21T03:00:00Z"],
        "postponed": 7,
        "failed": [failed | {"step": "2026-11-21T04:00:00Z/2026-11-21T05:00:00Z"}],
        "findings": {"INFO": 2, "WARN": 0, "ERROR": 1},
    }
    assert printed.err.splitlines() == [
        "checking paths and tables",
        "loading the audit",
        "1 of 2: 2026-11-21T03:00Z/2026-11-21T04:00Z audited",
        "2 of 2: 2026-11-21T04:00Z/2026-11-21T05:00Z failed: it's held",
        "rebalance-audit: warning, in steps: 1: AVG was assumed\\x1b",
    ]


def test_the_error_of_a_late_step_is_printed_once(monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    def backfill(*_: Any, progress: Any, with_findings: bool) -> dict[Interval, Outcome]:
        assert with_findings
        progress(STEPS[1], "publishing", False)
        progress(STEPS[1], "audited", True)
        progress(STEPS[2], "failed: it's held", True)
        return {STEPS[1]: audited(ERROR=1), STEPS[2]: HELD}

    monkeypatch.setattr("spark_jobs.api.start.start_spark", lambda *_, **__: None)
    monkeypatch.setattr("spark_jobs.cli.commands.late.is_nothing_late", lambda *_: False)
    monkeypatch.setattr("spark_jobs.cli.commands.late.late_steps", lambda *_: STEPS[1:])
    monkeypatch.setattr("spark_jobs.cli.commands.late.backfill", backfill)
    monkeypatch.setattr(
        "spark_jobs.cli.commands.late.recorded_steps", lambda *_: RecordedSteps({}, MISSING, {}, STEPS[0].start)
    )
    assert typed(BACKFILL.replace("backfill", "late"), code=4).err.splitlines() == [
        "checking paths and tables",
        "loading the audit",
        "looking for late snapshots",
        "2026-11-21T03:00Z/2026-11-21T04:00Z: publishing",
        "Next: rebalance-audit status --warehouse s3a://b/w",
        "rebalance-audit: 2026-11-21T04:00Z/2026-11-21T05:00Z: run\\x1b x\\nholds it",
    ]


def test_late_lists_missing_steps_and_exits_with_2_if_there_are_some(
    monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setattr("spark_jobs.cli.commands.late.is_nothing_late", lambda *_: True)
    recorded = RecordedSteps({}, MISSING, {}, STEPS[0].start)
    monkeypatch.setattr("spark_jobs.cli.commands.late.recorded_steps", lambda *_: recorded)
    command = BACKFILL.replace("backfill", "late")
    assert typed(command, code=2).lines[1:] == [
        "eu 2026-11-21T02:00Z/2026-11-21T03:00Z NOT_AUDITED",
        "1 time without a complete audit.",
    ]
    times = [{"cluster": "eu", "interval": "2026-11-21T02:00:00Z/2026-11-21T03:00:00Z", "why": "NOT_AUDITED"}]
    assert typed(f"{command} --json", code=2).document["missing"] == times
    recorded = RecordedSteps({}, [], {}, STEPS[0].start)
    assert typed(command).lines == ["0 published steps of 2026-11-21T02:00Z/2026-11-21T05:00Z were late."]


def test_a_dry_run_of_late_lists_the_late_steps_and_audits_none(monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    answers: dict[str, Any] = {"is_nothing_late": False, "spark_for": None, "stored_in": None, "late_steps": STEPS[:1]}
    answers["recorded_steps"] = RecordedSteps({}, [], {}, STEPS[0].start)
    for name, answer in answers.items():
        monkeypatch.setattr(f"spark_jobs.cli.commands.late.{name}", lambda *_, _answer=answer: _answer)
    command = f"{BACKFILL.replace('backfill', 'late')} --dry-run"
    assert typed(command).lines == [
        "2026-11-21T02:00Z/2026-11-21T03:00Z: would be audited again",
        "1 published steps of 2026-11-21T02:00Z/2026-11-21T05:00Z were late.",
    ]
    assert typed(f"{command} --json").document["late"] == [{"step": "2026-11-21T02:00:00Z/2026-11-21T03:00:00Z"}]


@pytest.mark.usefixtures("backfilled")
def test_a_backfill_is_lines_where_nobody_watches(typed: Typed) -> None:
    assert typed(f"{BACKFILL} --only-missing", code=4).lines == [
        "audited 2026-11-21T03:00Z/2026-11-21T04:00Z run=r1 3 findings: 1 ERROR, 2 INFO",
        "failed 2026-11-21T04:00Z/2026-11-21T05:00Z PublishConflictError: run\\x1b x holds it",
        "Steps: 1 audited, 1 left out, 1 failed. 3 findings: 1 ERROR, 2 INFO",
        "Not tried again, as the snapshots did not change: 1 rejected step.",
        "Still missing: 7 steps.",
    ]


@pytest.mark.parametrize(("rejected", "postponed", "code"), [([], 0, 0), ([STEPS[0]], 0, 2), ([], 1, 2)])
def test_a_backfill_without_steps_starts_no_spark_and_reports_what_is_still_missing(
    rejected: list[Interval], postponed: int, code: int, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    chosen = Filling([], rejected, [], postponed)
    monkeypatch.setattr("spark_jobs.cli.commands.backfill.filling", lambda *_: chosen)
    monkeypatch.setattr("spark_jobs.cli.commands.backfill.spark_for", None)
    printed = typed("backfill --warehouse s3a://b/w --only-missing --json", code=code)
    assert (printed.document["interval"], printed.document["audited"]) == (None, [])


def test_a_backfill_is_a_bar_on_a_terminal() -> None:
    def two_steps(terminal: Console) -> None:
        with bar_on(terminal, 2) as tell:
            tell(STEPS[0], "compressing the snapshots to their changes [b]\x9b", False)
            terminal.print("now")
            tell(STEPS[0], "audited", True)
            tell(STEPS[1], "failed: held", True)

    after = "\n".join(shown(two_steps, 100, on_terminal=True)).partition("now")[2]
    assert "2026-11-21T02:00Z compressing the snapshots to their changes [b]\\x9b " in after
    last = after.rpartition("compressing")[2]
    assert "2 of 2 steps" in last
    assert "failed" not in last.rpartition("2 of 2 steps")[2]


def test_a_backfill_is_a_table_on_a_terminal() -> None:
    outcomes: dict[Interval, Outcome] = {STEPS[0]: audited(WARN=1), STEPS[1]: HELD}
    rows = cells(lambda console: show_backfill(console, outcomes, Filling([])), 100)
    assert ["audited", "2026-11-21T02:00Z/2026-11-21T03:00Z", "1", "finding:", "1", "WARN"] in rows
    assert ["failed", "2026-11-21T03:00Z/2026-11-21T04:00Z", "PublishConflictError"] in rows
    assert ["run\\x1b", "x"] in rows
    assert rows[-1] == ["Steps:", *["1", "audited,", "0", "left", "out,", "1", "failed.", "1", "finding:", "1", "WARN"]]


def failure(**values: Any) -> dict[str, Any]:
    return (
        {"severity": "warning", "table_name": "membership_snapshots", "expectation": "client_ids_are_names"}
        | {"column_name": None, "step_start": datetime(2026, 11, 21, 2, tzinfo=UTC), "observed_value": 3.0}
        | {"unexpected_count": 3, "unexpected_percent": 37.5}
        | {"examples": ['{"consumer_group":"[red]x\x9b\u202e"}', "{}"]}
    ) | values


UNKNOWN = dict.fromkeys(("unexpected_count", "unexpected_percent"))
USUAL = {"severity": "critical", "expectation": "null_percent_is_usual", "column_name": "topic", "observed_value": 62.5}
FAILURES = [
    failure(step_start=datetime(2026, 11, 21, 3, tzinfo=UTC), unexpected_count=9),
    failure(),
    failure(**USUAL, **UNKNOWN, examples=[]),
]


def test_failed_expectations_are_lines_where_nobody_watches() -> None:
    assert shown(lambda console: show_failures(console, FAILURES, 70), 40) == [
        "critical null_percent_is_usual(topic) table=membership_snapshots steps=1 first=2026-11-21T02:00Z "
        "observed=62.5",
        "warning client_ids_are_names table=membership_snapshots steps=2 first=2026-11-21T02:00Z "
        'observed=3 rows (38 %) example={"consumer_group":"[red]x\\x9b\\u202e"}',
        "70 expectations × steps checked: 2 failed.",
    ]
    assert shown(lambda console: show_failures(console, [], 70)) == ["70 expectations × steps checked: all hold."]


def test_failed_expectations_are_a_table_on_a_terminal() -> None:
    rows = cells(lambda console: show_failures(console, FAILURES, 70), 140)
    assert rows[0] == ["Failed", "expectations"]
    assert ["critical", "null_percent_is_usual(topic)", "2026-11-21T02:00Z", "62.5"] in rows
    key = '{"consumer_group":"[red]x\\x9b\\u202e"}'
    assert ["warning", "client_ids_are_names", "2026-11-21T02:00Z", "3", "rows", "(38", "%)", key] in rows
    assert ["membership_snapshots", "2"] in rows


def test_progress_is_a_line_each_where_nobody_watches() -> None:
    def two_messages(console: Console) -> None:
        with progress_on(console) as say:
            for _ in range(2):
                say("Reading a file with [a] long name")
                say("Done\r")

    assert shown(two_messages, 20) == ["Reading a file with [a] long name", "Done\\r"]


def test_nothing_that_steers_a_terminal_is_printed() -> None:
    assert printable("é 中 \x07\x9b\u202e\ud800\n") == "é 中 \\x07\\x9b\\u202e\\ud800\\n"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59, "59 s"), (60, "1 min 00 s"), (3599, "59 min 59 s"), (3900, "1 h 05 min"), (97200, "1 d 03 h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == text


def test_json_is_ascii_with_times_in_utc() -> None:
    at = datetime(2026, 11, 21, 3, 0, 1, tzinfo=UTC)
    document = json.loads(as_json({"run": {"at": at, "é": 2**63 - 1}, "none": None}))
    assert document == {"run": {"at": "2026-11-21T03:00:01Z", "é": 9223372036854775807}, "none": None}
    assert as_json({"name": "\x9b"}).isascii()


def test_the_demo_says_which_file_it_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setattr("spark_jobs.operate.demo._EXAMPLES", tmp_path)
    assert f"the demo needs {tmp_path}/recording.jsonl.gz" in typed("demo", warehouse=tmp_path, code=3).err


@pytest.mark.parametrize(
    ("line", "environment", "expected"),
    [
        ("status", {"REBALANCE_AUDIT_WAREHOUSE": "w"}, {"warehouse": "w", "json": False}),
        ("status --warehouse typed", {"REBALANCE_AUDIT_WAREHOUSE": "w"}, {"warehouse": "typed"}),
        ("status --warehouse w", {"REBALANCE_AUDIT_JSON": "yes", "REBALANCE_AUDIT_OUT": "x"}, {"json": True}),
        ("status --warehouse w", {"REBALANCE_AUDIT_JSON": "0", "REBALANCE_AUDIT_GROUP": ""}, {"json": False}),
        (f"run --interval {HOUR}", {"REBALANCE_AUDIT_WAREHOUSE": "-w", "REBALANCE_AUDIT_FAIL_ON": "info"}, {
            "warehouse": "-w", "fail_on": "INFO",
        }),
        ("incidents --warehouse w --last 1h", {"REBALANCE_AUDIT_INTERVAL": HOUR}, {"last": 3600, "interval": None}),
        ("runs --warehouse w --format=csv", {"REBALANCE_AUDIT_JSON": "1"}, {"format": "csv", "json": False}),
        ("setup", {"REBALANCE_AUDIT_CAPTURE": "1"}, {"capture": ROCKETMQ}),
        ("setup", {"REBALANCE_AUDIT_CAPTURE": "5.3.1"}, {"capture": "5.3.1"}),
        ("setup", {"REBALANCE_AUDIT_CAPTURE": "no"}, {"capture": None}),
        ("setup --s3", {"REBALANCE_AUDIT_CAPTURE": "1"}, {"capture": None, "s3": True}),
        ("what-if --warehouse w --case --members=2", {"REBALANCE_AUDIT_MEMBERS": "3"}, {"members": "3"}),
    ],
)  # fmt: skip
def test_options_come_from_the_environment(line: str, environment: dict[str, str], expected: dict[str, Any]) -> None:
    arguments = build_parser().parse_args(with_environment(line.split(), environment))
    assert {name: getattr(arguments, name) for name in expected} == expected


def test_what_the_environment_filters_is_reported() -> None:
    environment = {"REBALANCE_AUDIT_GROUP": "g", "REBALANCE_AUDIT_WAREHOUSE": "w", "REBALANCE_AUDIT_JSON": "1"}
    said = ["the environment variable REBALANCE_AUDIT_GROUP filters: --group=g"]
    assert [*filters_from_environment(["status"], environment)] == said
    assert [*filters_from_environment(["status", "--group", "h"], environment)] == []
    assert [*filters_from_environment(["maintain"], environment)] == []


def test_a_wrong_value_in_the_environment_is_wrong_usage(monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setenv("REBALANCE_AUDIT_FAIL_ON", "loud")
    assert "argument --fail-on: invalid choice: 'LOUD'" in typed(f"run --warehouse w --interval {HOUR}", code=3).err


def test_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    """As bash asks: what is typed, where the cursor is, and where to answer."""
    answer = tmp_path / "answer"
    line = "rebalance-audit status --wa"
    environment = {
        "PATH": "", "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
    }  # fmt: skip
    subprocess.run([sys.executable, "-m", "spark_jobs.cli"], env=environment, check=True)
    assert answer.read_text().split() == ["--warehouse"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"run --warehouse {{folder}}/no --interval {HOUR}", "there is no table membership_snapshots in the warehouse"),
        (f"backfill --warehouse {{folder}}/no --interval {HOUR}", "there is no table membership_snapshots"),
        ("ingest no.jsonl --warehouse {folder}/no", "no.jsonl cannot be read"),
        ("ingest {folder}/file --warehouse {folder}/file", "is a file: give a folder"),
        ("maintain --warehouse {folder}/file", "is a file: give a folder"),
        ("ingest {folder}/file --warehouse {folder}/other", "column rule (string) is missing"),
        ("status --warehouse {folder}/nope", "there is no warehouse {folder}/nope: no such folder"),
        ("status --warehouse {folder}/void", "there is no warehouse {folder}/void: it has no table. Check the URI, or"),
        ("what-if --warehouse w --group g --unique-ids --html {folder}", "written to {folder}: Is a directory"),
        (f"report --warehouse w --interval {HOUR} --out {{folder}}/no/r", "written to {folder}/no/r: No such file"),
        (f"report --warehouse w --interval {HOUR} --out=", "the report cannot be written to .: Is a directory"),
    ],
)
def test_what_is_wrong_is_one_line_before_anything_is_loaded(
    line: str, message: str, tmp_path: Path, typed: Typed
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "void").mkdir()
    columns = {name: pa.array([], pa.string()) for name in FINDINGS.columns if name != "rule"}
    write_deltalake(tmp_path / "other" / "findings", pa.table(columns))
    err = typed(line.format(folder=tmp_path), code=3).err
    last = err.splitlines()[-1]
    assert message.format(folder=tmp_path) in last
    assert len(last) < 300 or "column" in message  # each column that a table lacks is named
    assert "loading the audit" not in err


def test_muted_findings_count_for_nothing() -> None:
    muted = published_finding(finding_id="m", silenced_because="replaced in December")
    follows, other = published_finding(finding_id="c", root_finding_id="m"), published_finding(severity="WARN")
    assert reported_severities([muted, other, follows]) == {"WARN": 1}
    assert reported_severities([other, follows]) == {"WARN": 1, "ERROR": 1}
    record = replace(audited(), findings=[muted], severities=reported_severities([muted]))
    assert run_exit_code(record, "INFO") is ExitCode.CLEAN


def test_capture_says_what_it_misses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed) -> None:
    monkeypatch.setattr("spark_jobs.cli.commands.capture.TOOLS_DIR", tmp_path)
    monkeypatch.delenv("ROCKETMQ_ACCESS_KEY", raising=False)
    monkeypatch.setenv("ROCKETMQ_SECRET_KEY", "s3cret")
    command = f"capture --namesrv 127.0.0.1:1 --out {tmp_path / 'out'}"
    err = typed(command, code=3).err
    assert "ROCKETMQ_ACCESS_KEY and ROCKETMQ_SECRET_KEY belong together" in err
    assert "s3cret" not in err
    monkeypatch.delenv("ROCKETMQ_SECRET_KEY")
    missing = f"RocketMQ's admin client is not installed ({tmp_path} has no rocketmq-tools)"
    assert missing in typed(command, code=3).err
    assert not (tmp_path / "out").exists()


def test_capture_ends_with_4_if_what_it_recorded_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    def gone(*_: object) -> None:
        raise ValueError("a bug")

    out, namesrv = tmp_path / "out", ("brokers", "name server")
    fake = FakeAdmin(broker_answers("a", stats=offset_table()) | {namesrv: brokers(a="10.0.0.1:10911")})
    monkeypatch.setattr("spark_jobs.cli.commands.capture.check_tools", lambda _: None)
    monkeypatch.setattr("spark_jobs.cli.commands.capture.start", lambda *_: fake)
    monkeypatch.setattr("spark_jobs.cli.loading.start_spark", lambda _: None)
    monkeypatch.setattr("spark_jobs.cli.loading.ingest", gone)
    err = typed(f"capture --namesrv n:1 --once --out {out} --warehouse {tmp_path / 'w'}", code=4).err
    assert f"1 recorded file in {out} could not be loaded: ValueError: a bug" in err
    assert len([*out.glob("*.jsonl.gz")]) == 1


def test_name_servers_are_quoted_in_the_help(typed: Typed) -> None:
    assert "--namesrv '10.0.0.1:9876;10.0.0.2:9876'" in typed("capture --help").out


def test_our_command_is_called_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("bin", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rebalance-audit").write_text("#!/bin/sh\n")
        (tmp_path / folder / "rebalance-audit").chmod(0o755)
    monkeypatch.chdir(tmp_path)

    def shown_as(called: str, path: str) -> str:
        monkeypatch.setattr(sys, "argv", [called])
        monkeypatch.setenv("PATH", path)
        return own_command()

    both = os.pathsep.join((str(tmp_path / "bin"), str(tmp_path / "other")))
    assert shown_as(str(tmp_path / "bin" / "rebalance-audit"), both) == "rebalance-audit"
    # The shell finds another one, or none, by that name.
    assert shown_as(str(tmp_path / "other" / "rebalance-audit"), both) == "other/rebalance-audit"
    assert shown_as("bin/rebalance-audit", "/nowhere") == "bin/rebalance-audit"
    (tmp_path / "bin").rename(tmp_path / "my tools")
    assert shown_as("my tools/rebalance-audit", "/nowhere") == "'my tools/rebalance-audit'"
    module = Path(build_parser.__code__.co_filename).with_name("__main__.py")
    assert shown_as(str(module), "/nowhere") == f"{sys.executable} -m spark_jobs.cli"


def test_the_next_command_can_be_typed_as_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    show_next("explain", "my tables", group="-2+3", at="2026-03-01", topic=None)
    line = capsys.readouterr().err.removeprefix("Next: rebalance-audit ")
    assert line == "explain --warehouse 'my tables' --group=-2+3 --at 2026-03-01\n"
    arguments = build_parser().parse_args(shlex.split(line))
    assert (arguments.warehouse, arguments.group) == ("my tables", "-2+3")


def test_what_to_try_after_the_demo_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    show_next_steps(Console(), "./my tables")
    first, title, *commands = capsys.readouterr().out.splitlines()
    assert (first, title, len(commands)) == ("", "Try next", 3)
    assert commands[0] == "rebalance-audit status --warehouse './my tables'  # what needs attention"
    parsed = [build_parser().parse_args(shlex.split(line, comments=True)[1:]) for line in commands[:2]]
    expected = [("status", "./my tables"), ("explain", "./my tables")]
    assert [(arguments.name, arguments.warehouse) for arguments in parsed] == expected
