"""`python -m spark_jobs.show.text.handbook` writes the pages of the rules and the glossary from the code."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path

from spark_jobs.domain.diagnosis.table import LINES, TableLine
from spark_jobs.domain.glossary import TERMS, Term
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import as_written
from spark_jobs.domain.rules.rule import Cause, Rule
from spark_jobs.domain.status.capacity import SIGNS, Limit, more_members_help
from spark_jobs.show.language import AUTO, ENGLISH, LANGUAGE, LANGUAGES, translated, word

_DOCS = Path(__file__).parents[3] / "docs"
INDEX, RULE_PAGES, GLOSSARY = _DOCS / "findings.md", _DOCS / "rules", _DOCS / "glossary.md"
DIAGNOSIS = _DOCS / "diagnosis.md"
_FRAME = Path(__file__).with_name("handbook.md")
_GLOSSARY_FRAME = """<!-- Made by python -m spark_jobs.show.text.handbook: change the terms, not this page. -->
# Glossary

In brackets: the names in RocketMQ, and in the [tables](tables.md).

{terms}
"""
_DIAGNOSIS_FRAME = """<!-- Made by python -m spark_jobs.show.text.handbook: change the table, not this page. -->
# Why a queue stands

A queue stands if its committed offset does not move while messages wait, for 60 s and three collection intervals
or longer. Facts of it are measured once: from offsets, from the brokers' lists of members, and from reports of its
owner. A fact that was not recorded is unknown. The first line below that fits is the cause. `incidents`, `explain`,
`status` and the report name the same one, and list the facts that are known.

Why a group falls behind while its offsets advance is decided by the table of
[bottlenecks](findings.md#would-more-consumers-have-helped).

## Causes

In this order. If no other rule is named, [CONSUMER_STOPPED](rules/CONSUMER_STOPPED.md) reports a queue whose offset
moved before, and [CONSUMER_STALLED](rules/CONSUMER_STALLED.md) one whose offset did not. The page of CONSUMER_STALLED,
or of the named rule, says what to do.

{lines}
"""
_NAMES = frozenset(rule.name for rule in RULES)


def index() -> str:
    """The page of all findings: the frame around an item per rule, and an item per limit."""
    limits = "\n".join(_limit(limit) for limit in Limit)
    return (
        _FRAME.read_text(encoding="utf-8").replace("{rules}", "\n".join(map(_row, RULES))).replace("{limits}", limits)
    )


def rule_pages() -> dict[Path, str]:
    """The page of each rule in each language, by its file."""
    languages = (language for language in LANGUAGES if language != AUTO)
    return {file: page for each in languages for file, page in copy_context().run(_rule_pages_in, each).items()}


def _rule_pages_in(language: str) -> dict[Path, str]:
    LANGUAGE.set(language)
    ending = ".md" if language == ENGLISH else f".{language}.md"
    return {RULE_PAGES / f"{rule.name}{ending}": rule_page(rule) for rule in RULES}


def rule_page(rule: Rule) -> str:
    """The page of a rule, in Markdown, in the language."""
    return "\n".join(_page(rule)) + "\n"


def first_sentence(rule: Rule) -> str:
    """The first sentence of what the rule means, in the language."""
    return re.split(r"(?<=\.) |(?<=。)", translated(rule.meaning))[0]


def glossary() -> str:
    """The page: an item per term."""
    return _GLOSSARY_FRAME.replace("{terms}", "\n".join(map(_term, TERMS)))


def diagnosis() -> str:
    """The page: an item per line of the table."""
    return _DIAGNOSIS_FRAME.format(lines="\n".join(map(_line, LINES)))


def _line(line: TableLine) -> str:
    rule, *more = line.rules
    reported_by = "" if more else f" Reported by [{rule}](rules/{rule}.md)."
    return f"1. **`{line.cause}`**: {_text(line.when)}.{reported_by}"


def _term(term: Term) -> str:
    names = ", ".join(f"`{name}`" for name in (*term.rocketmq, *term.columns))
    return f"- **{term.name}**: {_text(term.meaning)}" + (f" ({names})" if names else "")


def _limit(limit: Limit) -> str:
    signs = ", ".join(f"`{sign}`" for sign in SIGNS.get(limit, ()))
    answer = {True: "yes", False: "no", None: "unknown"}[more_members_help(limit)]
    return f"1. `{limit}`, {answer}{signs and ': '}{signs}"


def _row(rule: Rule) -> str:
    return f"- [{rule.name}](rules/{rule.name}.md): {first_sentence(rule)}"


def _page(rule: Rule) -> Iterator[str]:
    needs = "".join(f" Needs `{table}`." for table in rule.needs)
    decided_by = translated(f"{rule.decided_by}{needs}")
    yield from (f"# {rule.name}", "", translated(rule.meaning), "", _filled("**Reported when:** {}", decided_by), "")
    elsewhere = defaultdict[str, list[str]](list)
    for name, cause in rule.causes.items():
        if name in _NAMES:
            yield _filled("- **`{}`**: {}: see {}.", name, _text(cause.when), _link(name))
        elif (first := _first_with(cause)) != rule.name:
            elsewhere[first].append(f"**`{name}`**")
        else:
            yield from (_filled("- **`{}`**: {}.<br>", name, _text(cause.when)), f"  {_text(cause.advice)}")
    yield from (_filled("- {}: see {}.", ", ".join(names), _link(first)) for first, names in elsewhere.items())
    for line, texts in (("**Commands:** {}.", _commands(rule)), ("**Symptoms:** {}.", _symptoms(rule.name))):
        if text := ", ".join(dict.fromkeys(texts)):
            yield from ("", _filled(line, text))


def _filled(line: str, *texts: str) -> str:
    """The line in the language, with the texts."""
    return translated(line).format(*texts)


def _link(rule: str) -> str:
    return f"[{rule}]({rule}.md)"


def _text(text: str) -> str:
    """The text in the language, as Markdown, which takes `<name>` for a tag."""
    return word(text).replace("<", "&lt;")


def _first_with(cause: Cause) -> str:
    """The rule with the cause that comes first by its name: its page explains the cause."""
    return min(rule.name for rule in RULES if cause in rule.causes.values())


def _commands(rule: Rule) -> Iterator[str]:
    """Each command once, with its causes unless all have it."""
    causes = {
        name: cause for name, cause in rule.causes.items() if _first_with(cause) == rule.name and name not in _NAMES
    }
    for command in dict.fromkeys(command for cause in causes.values() for command in cause.commands):
        names = [f"`{name}`" for name, cause in causes.items() if command in cause.commands]
        yield f"`{as_written(command)}`" + (f" ({', '.join(names)})" if len(names) < len(causes) else "")


def _symptoms(root: str) -> Iterator[str]:
    """The rules whose findings follow from this one's."""
    return (_link(rule.name) for rule in RULES for link in rule.follows if link.root == root)


def write() -> None:
    """Writes all pages, and deletes those of rules that are gone."""
    INDEX.write_text(index(), encoding="utf-8")
    GLOSSARY.write_text(glossary(), encoding="utf-8")
    DIAGNOSIS.write_text(diagnosis(), encoding="utf-8")
    RULE_PAGES.mkdir(exist_ok=True)
    pages = rule_pages()
    for page in {*RULE_PAGES.glob("*.md")} - pages.keys():
        page.unlink()
    for page, text in pages.items():
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
