"""Pages that are made from the code are up to date, and the first page leads to all others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from schemas import TABLES
from schemas.handbook import PAGE, handbook
from spark_jobs.cli.commands import COMMANDS
from spark_jobs.cli.options import OPTIONS

DOCS = Path(__file__).parents[1] / "docs"
FIRST = (DOCS / "README.md").read_text(encoding="utf-8")
README = (DOCS.parent / "README.md").read_text(encoding="utf-8")


def test_the_page_of_tables_is_the_one_the_schemas_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == handbook(), "run python -m schemas.handbook"


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_every_column_is_on_it_with_its_meaning(table: object) -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = re.search(rf"^### {table.name}$(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)  # type: ignore[attr-defined]
    assert section
    rows = re.findall(r"^\| \**`(\w+)`\** \| ([^|]+) \| (.*) \|$", section[1], re.MULTILINE)
    assert [name for name, _, _ in rows] == list(table.schema.names)  # type: ignore[attr-defined]
    assert all(meaning for _, _, meaning in rows)


def test_the_first_page_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\((\w[\w-]*\.md)\)", FIRST))
    assert linked == {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert "(docs/README.md)" in README


def test_the_commands_of_the_first_page_exist_with_their_options() -> None:
    told = [shlex.split(text) for text in re.findall(r"`([a-z][^`]*)`", FIRST)]
    commands = [words for words in told if words[0] in COMMANDS]
    assert {words[0] for words in commands} >= {"status", "incidents", "clients", "compare", "runs", "verify", "trends"}
    for first, *words in commands:
        assert {word for word in words if word.startswith("--")} <= set(COMMANDS[first].options), first
    for option in re.findall(r"(--[a-z]+)", FIRST):
        assert option in OPTIONS


def test_the_readme_has_every_command_and_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 150
    rows = re.findall(r"^\| (`[a-z].*?) \|", README, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)[ `]", row)}
    assert set(COMMANDS) - {"version"} <= named
