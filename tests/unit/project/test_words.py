"""The product and its pages use the glossary's terms, and none of the words that made readers stumble."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator

import pytest

from schemas.table import Table
from spark_jobs.domain.glossary import TERMS, Term
from spark_jobs.show.text.handbook import DIAGNOSIS, GLOSSARY, diagnosis, glossary
from tests.unit.project.test_layers import PACKAGES, ROOT, modules

#: What is said otherwise now, and how.
BANNED = {
    r"(colou|neighbou|behaviou|favou)r|\bgrey\b|catalogue": "the American spelling",
    r"(util|normal|organ|recogn|summar|minim|maxim|optim)is(e|ing|ation)": "the American spelling",
    r"(?-i:\b[Tt]wins?\b)": "consumers that share a client id",
    r"\bnobody's\b": "nobody owns …, … has no owner",
    r"\b(told|tells?|telling) of\b": "reported, known",
    r"\b(tells?|told|telling) somebody\b|\bnobody to tell\b|\b(who|what|nobody) (is|was) told\b": "notify, send",
    r"\bnothing is (known|written down) of\b": "unknown, not recorded",
    r"\bgo(es|ing)? on\b": "last, continue, end later",
    r"\b(has|have) to hold\b": "must contain",
    r"\btrouble\b": "problem",
    r"\bshows? less\b": "shows fewer problems",
    r"\btakes? part\b": "involve",
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
    r"\bnothing to help\b": "No: members kept up",
    r"\banew\b": "again",
    r"\bgive[ns]? it back\b": "restore",
    r"\bso (many|much) (of|a|calls|days|connections)\b": "N, this many",
    r"\bof whom\b": "whose",
    r"\b(stands?|stood) (since|still|behind|below|before|so long|for more)\b": "lasts, is",
    r"\bbe it\b": "whether",
}
#: Words that readers stumble over, and the ones to use; code spans and links do not count.
REPLACED = {
    r"judg(e|es|ed|ing)": "evaluate, apply",
    r"consequences?": "symptom",
    r"fates?": "outcome",
    r"beside": "alongside",
    r"cadences?": "collection interval",
    r"mut(e|es|ed|ing)": "silence",
    r"notices?": "notification",
    r"twins?": "duplicates",
    r"held since": "active since",
}
#: Words that only docstrings still have.
REPLACED_IN_TEXTS = {
    r"(tells?|told|telling)": "report, show, print",
    r"nobody": "no consumer, no member, unassigned",
    r"positions?": "index",
    r"further": "additional, more",
    r"claims?": "lock, lease",
    r"(offset|first|last|any|between|known) readings?": "sample",
}
#: By the words of a place, why a replaced word is right there.
ALLOWED = {
    "### notices": "a table",
    "mutes:": "the configuration's key",
    "notices.url": "a file's name in examples",
    "rebalance-audit-notices": "a secret's name in examples",
}
#: Names of functions, classes, arguments and variables that do not say what they hold.
BANNED_NAMES = {
    *("asked", "behind", "both", "came", "found", "gone", "held", "met", "one", "others", "said", "stated"),
    *("gives", "looks", "makes", "saw", "stands", "untold", "whom"),
    *("takers", "tellings", "these", "those", "twins", "went", "whose", "worth"),
}


def printed() -> Iterator[tuple[str, str]]:
    """(where, text) of everything that may be printed: literals with spaces that are no docstrings, and page frames."""
    for path, tree in modules():
        yield from ((f"{path}:{line}", text) for line, text in literals(tree))
    for package in PACKAGES:
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


def docstrings() -> Iterator[tuple[str, str]]:
    """(file, text) of every docstring."""
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
                yield str(path), text


def names() -> Iterator[tuple[str, str]]:
    """(place, name) of what is defined, without underscores around it."""
    for path, tree in modules():
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    yield f"{path}:{node.lineno}", name.strip("_")
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    yield f"{path}:{node.lineno}", name.strip("_")


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def written() -> Iterator[tuple[str, str]]:
    """(where, line) of the pages that people read."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            yield f"{page.relative_to(ROOT)}:{number}", line


def shipped() -> Iterator[tuple[str, str]]:
    """(where, text) of the dashboard, the alerts and the files to start from."""
    for file in sorted((ROOT / "examples").iterdir()):
        if file.suffix != ".gz":
            yield str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")


PRINTED = list(printed())
DOCSTRINGS = list(docstrings())
PAGES = [*written(), *shipped()]


def test_all_texts_are_searched() -> None:
    """A constant, a template, and a text over several lines."""
    tree = ast.parse('"""No text."""\nx = f"Group {name} is" " offline"\ny("one two", "word")\n')
    assert list(literals(tree)) == [(2, "Group … is offline"), (3, "one two")]
    texts = [text for _, text in PRINTED]
    assert "No consumer of {groups} is connected" in texts
    assert any(text.startswith("Yes, any consumer: none was connected") for text in texts)
    pages = [text for _, text in PAGES]
    assert "# rebalance-audit" in pages
    assert "# Glossary" in pages
    assert any("Queues with several owners" in text for text in pages)


@pytest.mark.parametrize("banned", BANNED)
def test_words_that_make_a_reader_stumble_are_not_used(banned: str) -> None:
    texts = PRINTED + PAGES + DOCSTRINGS
    places = [f"{where}: {text}" for where, text in texts if re.search(banned, text, re.IGNORECASE)]
    assert places == [], f"say instead: {BANNED[banned]}"


def _prose(texts: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The texts without code, link targets, options and what is allowed."""
    left_out = "|".join([*map(re.escape, ALLOWED), r"`[^`]*`", r"\]\([^)]*\)", r"--[\w-]+", r"\{[^}]*\}"])
    return [(where, re.sub(left_out, " ", text)) for where, text in texts]


PROSE, PROSE_OF_DOCSTRINGS = _prose(PRINTED + PAGES), _prose(DOCSTRINGS)


@pytest.mark.parametrize("word", [*REPLACED, *REPLACED_IN_TEXTS])
def test_texts_use_the_words_of_the_field(word: str) -> None:
    texts = PROSE + (PROSE_OF_DOCSTRINGS if word in REPLACED else [])
    whole = re.compile(rf"(?<![\w.$/-]){word}(?![\w=.]*[\w=])", re.IGNORECASE)
    places = [f"{where}: {text}" for where, text in texts if whole.search(text)]
    assert places == [], f"say instead: {(REPLACED | REPLACED_IN_TEXTS)[word]}"


def test_messages_name_pages_by_their_published_place() -> None:
    """`installation.documentation` knows it: a wheel has no docs."""
    assert [f"{where}: {text}" for where, text in PRINTED if re.search(r"docs/[\w-]+\.md", text)] == []


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    clauses = re.compile(r"(What|Whether|As|Where)\b")
    assert [f"{where}: {text.splitlines()[0]}" for where, text in DOCSTRINGS if clauses.match(text)] == []


def test_a_name_says_what_it_holds() -> None:
    assert [f"{where}: {name}" for where, name in names() if name in BANNED_NAMES] == []


def test_the_glossary_is_the_one_the_terms_make() -> None:
    assert GLOSSARY.read_text(encoding="utf-8") == glossary(), "run python -m spark_jobs.show.text.handbook"
    assert DIAGNOSIS.read_text(encoding="utf-8") == diagnosis(), "run python -m spark_jobs.show.text.handbook"


def test_the_terms_are_in_order_and_each_has_one_sentence() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(set(names))
    for term in TERMS:
        assert re.fullmatch(r"[^|`]+\.", term.meaning), term.name
        assert ". " not in term.meaning, term.name


@pytest.mark.parametrize("term", TERMS, ids=[term.name for term in TERMS])
def test_every_term_is_used(term: Term) -> None:
    plural = re.sub("y$", "ie", term.name) + "s"
    wanted = re.compile(rf"\b({re.escape(term.name)}|{re.escape(plural)})\b", re.IGNORECASE)
    assert any(wanted.search(text) for where, text in PRINTED if "glossary" not in where)


def test_the_columns_of_terms_exist() -> None:
    tables: dict[str, Table] = {}
    for file in (ROOT / "schemas").glob("*.py"):
        for value in vars(importlib.import_module(f"schemas.{file.stem}")).values():
            if isinstance(value, Table):
                tables[value.name] = value
    for term in TERMS:
        for column in term.columns:
            table, _, name = column.partition(".")
            assert not name or name in tables[table].schema.names, (term.name, column)
            assert table in tables, (term.name, column)
