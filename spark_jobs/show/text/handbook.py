"""`python -m spark_jobs.show.text.handbook` writes the pages of the rules and the glossary from the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spark_jobs.domain.glossary import TERMS, Term
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import as_written
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.status.capacity import SIGNS, Limit, more_members_help

_DOCS = Path(__file__).parents[3] / "docs"
INDEX, RULE_PAGES, GLOSSARY = _DOCS / "findings.md", _DOCS / "rules", _DOCS / "glossary.md"
_FRAME = Path(__file__).with_name("handbook.md")
_GLOSSARY_FRAME = """<!-- Made by python -m spark_jobs.show.text.handbook: change the terms, not this page. -->
# Glossary

| term | meaning | in RocketMQ, and in the [tables](tables.md) |
|---|---|---|
{terms}
"""


def index() -> str:
    """The page of all findings: the frame around a row per rule, and a row per limit."""
    limits = "\n".join(_limit(limit) for limit in Limit)
    return (
        _FRAME.read_text(encoding="utf-8").replace("{rules}", "\n".join(map(_row, RULES))).replace("{limits}", limits)
    )


def rule_pages() -> dict[Path, str]:
    """The page of each rule, by its file."""
    return {RULE_PAGES / f"{rule.name}.md": "\n".join(_page(rule)) + "\n" for rule in RULES}


def glossary() -> str:
    """The page: a row per term."""
    return _GLOSSARY_FRAME.replace("{terms}", "\n".join(map(_term, TERMS)))


def _term(term: Term) -> str:
    names = ", ".join(f"`{name}`" for name in (*term.rocketmq, *term.columns))
    return f"| {term.name} | {_cell(term.meaning)} | {names} |"


def _limit(limit: Limit) -> str:
    signs = ", ".join(f"`{sign}`" for sign in SIGNS.get(limit, ()))
    answer = {True: "yes", False: "no", None: "unknown"}[more_members_help(limit)]
    return f"| `{limit}` | {answer} | {signs} |"


def _row(rule: Rule) -> str:
    return f"| [{rule.name}](rules/{rule.name}.md) | {rule.meaning.partition('. ')[0].removesuffix('.')} |"


def _page(rule: Rule) -> Iterator[str]:
    needs = "".join(f" Needs `{table}`." for table in rule.needs)
    yield from (f"# {rule.name}", "", rule.meaning, "", f"**Reported when:** {rule.decided_by}{needs}", "")
    yield from ("| cause | when | what to do |", "|---|---|---|")
    for name, cause in rule.causes.items():
        advice = _elsewhere(rule, cause) or " ".join([cause.advice, *(f"`{as_written(it)}`" for it in cause.commands)])
        yield f"| `{name}` | {_cell(cause.when)} | {_cell(advice)} |"
    symptoms = ", ".join(_symptoms(rule.name))
    yield from ("", f"**Symptoms:** {symptoms}.") if symptoms else ()
    yield from ("", f"**Example:** {rule.example}") if rule.example else ()


def _cell(text: str) -> str:
    """The text of a cell: Markdown takes `<name>` for a tag."""
    return text.replace("<", "&lt;")


def _elsewhere(rule: Rule, cause: Cause) -> str | None:
    """A link to the page of the rule that shares the cause, and comes first by its name; None: it is on this page."""
    first = min(each.name for each in RULES if cause in each.causes.values())
    return None if first == rule.name else f"See [{first}]({first}.md)."


def _symptoms(root: str) -> Iterator[str]:
    """The rules whose findings follow from this one's, with the causes for which they do."""
    for rule in RULES:
        for link in rule.follows:
            if link.root == root:
                causes = f" ({', '.join(link.causes)})" if link.causes else ""
                of_causes = f" if {' or '.join(link.root_causes)}" if link.root_causes else ""
                yield f"[{rule.name}]({rule.name}.md){causes}{of_causes}"


def write() -> None:
    """Writes all pages, and deletes those of rules that are gone."""
    INDEX.write_text(index(), encoding="utf-8")
    GLOSSARY.write_text(glossary(), encoding="utf-8")
    RULE_PAGES.mkdir(exist_ok=True)
    pages = rule_pages()
    for page in {*RULE_PAGES.glob("*.md")} - pages.keys():
        page.unlink()
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
