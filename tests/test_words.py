"""What the product says to people uses the glossary's terms, and none of the words that made readers stumble."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.table import Table
from spark_jobs.domain.glossary import TERMS, Term
from spark_jobs.explain.handbook import GLOSSARY, glossary

ROOT = Path(__file__).parents[1]
PACKAGES = ("spark_jobs", "expectations", "schemas", "dags")
#: What is said otherwise now, and how.
BANNED = {
    r"\btwins?\b": "consumers that share a client id",
    r"\bnobody's\b": "nobody owns …, … has no owner",
    r"\b(told|tells?|telling) of\b": "reported, known",
    r"\b(came|comes?|coming) in\b": "produced",
    r"\bchanged? hands\b": "changed owner",
    r"\bsubscrib(e|es|ed|ing) (?!to\b)\w+": "subscribe to",
    r"\ball the same\b": "still, anyway",
    r"\b(topics?|ones?) aside\b": "except",
    r"\blikewise\b": "the same way",
    r"\b(bear|bears)\b": "tolerate, handle",
    r"\bmend\b": "fix",
    r"\bcur(e|es|ed)\b": "fix",
    r"\b(gets?|got) on\b": "makes progress",
    r"\b(come|comes|came)( and|s? or) (go|goes|went)\b": "join and leave",
    r"\bcomings? and goings?\b": "join and leave",
    r"\bin two looks\b|\bsuccessive looks\b|\blooks? at the client\b": "client snapshot",
    r"\bnothing to help\b": "More consumers would not have helped",
    r"\bmade anew\b": "created again",
    r"\bgive[ns]? it back\b": "restore",
    r"\bso (many|much) (of|a|calls|days|connections)\b": "N, this many",
    r"\bof whom\b": "whose",
    r"\bstands? (since|still|behind|below|so long)\b": "lasts, is",
    r"\bbe it\b": "whether",
}


def said() -> Iterator[tuple[str, str]]:
    """(where, text) of everything that may be printed: literals with spaces that are no docstrings, and page frames."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            where = str(file.relative_to(ROOT))
            yield from ((f"{where}:{line}", text) for line, text in literals(ast.parse(file.read_text("utf-8"))))
        for file in sorted((ROOT / package).rglob("*")):
            if file.suffix in (".html", ".md"):
                yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


def literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of every text with a space that is no docstring; what a template fills in is `…`."""
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    silent |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) not in silent and isinstance(node, (ast.Constant, ast.JoinedStr)):
            text = text_of(node)
            if " " in text.strip():
                yield node.lineno, text


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


SAID = list(said())


def test_everything_that_is_said_is_found() -> None:
    """A constant, a template, and a text over several lines."""
    tree = ast.parse('"""No text."""\nx = f"Group {name} is" " offline"\ny("one two", "word")\n')
    assert list(literals(tree)) == [(2, "Group … is offline"), (3, "one two")]
    texts = [text for _, text in SAID]
    assert "No consumer of {groups} is connected" in texts
    assert any(text.startswith("More consumers would not have helped") for text in texts)


@pytest.mark.parametrize("banned", BANNED)
def test_words_that_make_a_reader_stumble_are_not_said(banned: str) -> None:
    found = [f"{where}: {text}" for where, text in SAID if re.search(banned, text, re.IGNORECASE)]
    assert found == [], f"say instead: {BANNED[banned]}"


def test_the_glossary_is_the_one_the_terms_make() -> None:
    assert GLOSSARY.read_text(encoding="utf-8") == glossary(), "run python -m spark_jobs.explain.handbook"


def test_the_terms_are_in_order_and_each_has_one_sentence() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(set(names))
    for term in TERMS:
        assert re.fullmatch(r"[^|`]+\.", term.meaning), term.name
        assert ". " not in term.meaning, term.name


@pytest.mark.parametrize("term", TERMS, ids=[term.name for term in TERMS])
def test_every_term_is_said(term: Term) -> None:
    """Outside the glossary, in the singular or plural."""
    plural = re.sub("y$", "ie", term.name) + "s"
    wanted = re.compile(rf"\b({re.escape(term.name)}|{re.escape(plural)})\b", re.IGNORECASE)
    assert any(wanted.search(text) for where, text in SAID if "glossary" not in where)


def test_the_columns_of_terms_exist() -> None:
    tables: dict[str, Table] = {}
    for file in (ROOT / "schemas").glob("*.py"):
        for found in vars(importlib.import_module(f"schemas.{file.stem}")).values():
            if isinstance(found, Table):
                tables[found.name] = found
    for term in TERMS:
        for column in term.columns:
            table, _, name = column.partition(".")
            assert not name or name in tables[table].schema.names, (term.name, column)
            assert table in tables, (term.name, column)
