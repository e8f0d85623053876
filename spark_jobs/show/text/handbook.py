"""`python -m spark_jobs.show.text.handbook` writes the pages of the rules and the glossary from the code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spark_jobs.domain.glossary import TERMS, Term
from spark_jobs.domain.rules import membership_view_split, roots
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import as_written
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.domain.status.capacity import ADVICE, SIGNS, Limit

#: What a consequence shares with its root, in words.
SHARED = {
    roots.everything: "of the group",
    roots.topics: "of the same topic",
    roots.queues: "of the same queues",
    roots.clients: "of the same clients",
    roots.named_clients: "of the clients that it names",
    membership_view_split.brokers_that_list_fewer: "of queues of the broker that lists fewer",
}
_DOCS = Path(__file__).parents[3] / "docs"
INDEX, RULE_PAGES, GLOSSARY = _DOCS / "findings.md", _DOCS / "rules", _DOCS / "glossary.md"
_FRAME = Path(__file__).with_name("handbook.md")
_GLOSSARY_FRAME = """<!-- Made by python -m spark_jobs.show.text.handbook: change the terms, not this page. -->
# Glossary

What the words of messages, advice and pages mean, with the classes and settings of RocketMQ and the tables and columns
that hold it. The report has these terms at its end.

| term | meaning | in RocketMQ | in the tables |
|---|---|---|---|
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
    rocketmq, columns = (", ".join(f"`{name}`" for name in names) for names in (term.rocketmq, term.columns))
    return f"| {term.name} | {term.meaning} | {rocketmq} | {columns} |"


def _limit(limit: Limit) -> str:
    signs = ", ".join(f"`{sign}`" for sign in SIGNS.get(limit, ()))
    return f"| `{limit}` | {signs} | {ADVICE[limit]} |"


def _row(rule: Rule) -> str:
    return f"| [{rule.name}](rules/{rule.name}.md) | {rule.meaning.partition('. ')[0].removesuffix('.')} |"


def _page(rule: Rule) -> Iterator[str]:
    yield "<!-- Made from the rule by python -m spark_jobs.show.text.handbook -->"
    decided_by = rule.decided_by[0].upper() + rule.decided_by[1:]
    yield from (f"# {rule.name}", "", rule.meaning, "", "## When it is reported", "", decided_by, "")
    if rule.needs:
        needed = ", ".join(f"`{table}`" for table in rule.needs)
        yield from (f"It needs {needed}. Without it the rule is not evaluated, which `audit_runs` records.", "")
    yield from ("## Causes, and what to do", "", "| cause | when | what to do |", "|---|---|---|")
    for name, cause in rule.causes.items():
        commands = "".join(f" `{as_written(command)}`" for command in cause.commands)
        yield f"| `{name}` | {cause.when} | {cause.advice}{commands} |"
    consequences = list(_consequences(rule.name))
    if consequences:
        yield from ("", "## Consequences", "", *consequences)
    yield from ("", "## Example", "", rule.example)


def _consequences(root: str) -> Iterator[str]:
    """The rules whose findings follow from this one's, with the causes for which they do."""
    for rule in RULES:
        for link in rule.follows:
            if link.root == root:
                causes = f" ({', '.join(link.causes)})" if link.causes else ""
                of_causes = f", if the cause is {' or '.join(link.root_causes)}" if link.root_causes else ""
                yield f"- [{rule.name}]({rule.name}.md){causes}, {SHARED[link.shares]}{of_causes}"


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
