"""The page ends with the terms it uses."""

from __future__ import annotations

from html import unescape

from spark_jobs.domain.glossary import TERMS
from spark_jobs.show.page.page import page
from tests.report.pages import content, troubled, twins


def test_every_term_is_explained_on_the_page() -> None:
    _, _, after = page(content(twins(troubled()))).partition('<details id="glossary">')
    terms = unescape(after.partition("</details>")[0])
    assert [term.name for term in TERMS if f"<dt>{term.name}</dt><dd>{term.meaning}" not in terms] == []
    assert "RocketMQ: AllocateMessageQueueStrategy" in terms
