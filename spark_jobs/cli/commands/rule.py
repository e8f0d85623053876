"""Explain a rule: the text of its page, without a warehouse."""

import re
from argparse import Namespace

from rich.console import Console
from rich.markdown import Markdown

from spark_jobs.cli.tables import Column, show_table
from spark_jobs.cli.terminal import print_line
from spark_jobs.domain.phrases import count, did_you_mean
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.rule import Rule
from spark_jobs.errors import ExitCode, UnknownNameError
from spark_jobs.show.text.handbook import first_sentence, rule_page


def rule_command(arguments: Namespace) -> int:
    """Exit code 0. Raises `UnknownNameError`, with the nearest names, for a name that no rule has."""
    console, rules = Console(), {rule.name: rule for rule in RULES}
    if arguments.NAME is None:
        summary = f"{count(len(RULES), 'rule')}; rebalance-audit rule NAME explains one"
        show_table(console, "Rules", _COLUMNS, RULES, summary)
    elif arguments.NAME in rules:
        _show_page(console, rules[arguments.NAME])
    else:
        hint = did_you_mean(arguments.NAME, rules) or "rebalance-audit rule lists them"
        raise UnknownNameError(f"there is no rule {arguments.NAME}: {hint}")
    return ExitCode.CLEAN


def _show_page(console: Console, rule: Rule) -> None:
    """Draw the page on a terminal, and print it as Markdown otherwise; links to other pages become their names."""
    page = re.sub(r"\[(\w+)\]\(\1\.md\)", r"\1", rule_page(rule))
    if console.is_terminal:
        console.print(Markdown(page))
    else:
        for line in page.splitlines():
            print_line(console, line)


_COLUMNS: tuple[Column[Rule], ...] = (
    Column("rule", lambda rule: rule.name, "{}:", fixed=True),
    Column("what it means", first_sentence, "{}"),
)
