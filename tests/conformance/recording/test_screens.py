"""Screens of the demo, whole: each file of `tests/data/screens` is a command and what a terminal of that width shows.

Trailing blanks are left out, and the age of the data, which is new every day. No Spark.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas import FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS
from tests.support.commands import ANSWERED, Typed
from tests.support.recordings import audited, write_warehouse

SCREENS = sorted((Path(__file__).parents[2] / "data" / "screens").glob("*.txt"))
WANTED = (FINDINGS, GROUP_STATUS, REBALANCE_INTERVALS)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    write_warehouse(folder, audited(3600, wanted=WANTED), 3600)
    return folder


def screen(text: str) -> Iterator[str]:
    return (re.sub(r"\d+ [^,:，：]+( ago|前(?=[。：]))", r"…\1", line.rstrip()) for line in text.splitlines())


@pytest.mark.parametrize("file", SCREENS, ids=lambda file: file.stem)
def test_a_screen_is_as_it_is_stored(
    file: Path, warehouse: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, *expected = file.read_text(encoding="utf-8").splitlines()
    typed_line = re.fullmatch(r"\$ COLUMNS=(\d+) rebalance-audit (.+)", command)
    assert typed_line, f"{file} begins with: $ COLUMNS=80 rebalance-audit …"
    for name, value in {"COLUMNS": typed_line[1], "LINES": "50", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    shown = typed(typed_line[2], warehouse=warehouse, code=ANSWERED).out
    assert [*screen(shown)] == expected
