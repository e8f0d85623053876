"""Typed commands, and those that messages suggest: each works as it stands."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from spark_jobs.cli.main import main
from spark_jobs.cli.show_what_if import show_plan
from spark_jobs.cli.terminal import own_command
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.what_if.plan import Plan, PlannedMember, PlannedSize
from spark_jobs.show.page.page import page
from spark_jobs.show.what_if import GroupSteps
from tests.support.browser import needs_browser
from tests.support.opened import Opened
from tests.support.pages import content, troubled, twins
from tests.support.times import HOUR


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
    module = Path(main.__code__.co_filename).with_name("__main__.py")
    assert shown_as(str(module), "/nowhere") == f"{sys.executable} -m spark_jobs.cli"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("trends --warehouse w --days 0", "argument --days: '0' is not a whole number from 1 to 366"),
        ("trends --warehouse w --days x", "argument --days: 'x' is not a whole number from 1 to 366"),
        ("backfill --warehouse w --interval 2026-11-21/2026-11-22 --jobs 17", "from 1 to 16"),
        ("status --warehouse {folder}/nope", "there is no warehouse {folder}/nope: no such folder"),
        ("status --warehouse {folder}", "nothing has been published in the warehouse {folder}"),
    ],
)
def test_what_was_wrong_is_one_line(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.format(folder=tmp_path).split()) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert message.format(folder=tmp_path) in last
    assert len(last) < 300


def test_name_servers_are_quoted_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", "--help"]) == 0
    assert "--namesrv '10.0.0.1:9876;10.0.0.2:9876'" in capsys.readouterr().out


def test_every_member_of_a_plan_has_a_line_on_a_terminal() -> None:
    """Hostile names stay escaped; the line breaks are ours."""
    members = [PlannedMember(name, 1, 2.0, 3.0, True, True) for name in ("c1", "c\n\x1b[2J")]
    terminal = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    show_plan(terminal, GroupSteps("c", "g", HOUR, [], StrategySettings()), Plan(0, [PlannedSize(0, members, 0, 0)]))
    assert isinstance(terminal.file, io.StringIO)
    lines = [line.strip() for line in terminal.file.getvalue().splitlines()]
    assert any(line.endswith(" c1: 1 queue, 2.0 of 3.0") for line in lines)
    assert "c\\n\\x1b[2J: 1 queue, 2.0 of 3.0" in lines


@needs_browser
@pytest.mark.parametrize(("place", "is_shown"), [("", False), ("#group-1", False), ("#incident-gone", True)])
def test_a_link_to_what_the_report_lacks_says_so(place: str, is_shown: bool, open_page: Callable[..., Opened]) -> None:
    opened = open_page(page(content(twins(troubled()))), place)
    opened.charts("group-1")
    assert opened.page.is_visible("#missing") is is_shown
    opened.page.evaluate("location.hash = '#fleet'")
    opened.page.wait_for_function("() => location.hash === '#fleet'")
