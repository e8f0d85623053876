"""Texts in another language: catalogs are complete and up to date, names stay, what is unknown stays English."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from spark_jobs.cli.tables import Column, folded, table
from spark_jobs.domain.diagnosis.table import LINES
from spark_jobs.domain.glossary import TERMS
from spark_jobs.domain.incidents.facts import Names
from spark_jobs.domain.incidents.notices import OPENED, News, audit_notice
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import look_for
from spark_jobs.domain.status.capacity import ADVICE
from spark_jobs.errors import ConfigurationError
from spark_jobs.show import language
from spark_jobs.show.language import AUTO, ENGLISH, LANGUAGES, language_of, translated, translated_page, word
from spark_jobs.show.text.notice_text import notice_text
from tests.support.commands import ANSWERED, Typed
from tests.support.translated import untranslated
from tests.unit.project.test_layers import ROOT, modules
from tests.unit.project.test_words import literals

CATALOGS = {
    name: tomllib.loads((ROOT / "spark_jobs/show/language" / f"{name}.toml").read_text("utf-8"))
    for name in LANGUAGES
    if name not in (ENGLISH, AUTO)
}
#: Of single words; of texts that several places of the code compose.
WORDS, COMPOSED = ("words", "nouns", "units"), "joints"
FIELD = re.compile(r"\{[^{}]*\}")


def templates(name: str) -> Iterator[tuple[str, str, str]]:
    """(table, English, translation) of all templates of a catalog."""
    for table_name, pairs in CATALOGS[name].items():
        if table_name not in WORDS:
            yield from ((table_name, english, shown) for english, shown in pairs.items())


def bare(template: str) -> str:
    """The template without the names of its values, and without values and signs at its ends."""
    return FIELD.sub("…", template).strip("… .:;,()")


def texts_of_pages() -> Iterator[str]:
    """Texts between tags, and attributes, of the templates of pages."""
    for file in sorted((ROOT / "spark_jobs/show/page/views").glob("*.html")):
        filled_in = re.sub(r"\{%.*?%\}", "", re.sub(r"\{\{.*?\}\}", "…", file.read_text("utf-8")))
        yield from (text or other for text, other in re.findall(r'>([^<>]+)|="([^"]+)"', filled_in))


SOURCES = [text for _, tree in modules() for _, text in literals(tree)]
SOURCES += [*texts_of_pages(), *(term.meaning for term in TERMS)]
IN_SOURCE = {bare(part) for text in SOURCES for part in (text, *re.split(r"(?<=[.?!])\s+", text))}


def words_of(text: str) -> set[str]:
    """Its words, whatever their case and number."""
    return {found.lower().removesuffix("s") for found in re.findall(r"\w+", FIELD.sub("", text))}


CONSTANTS = [node.value for _, tree in modules() for node in ast.walk(tree) if isinstance(node, ast.Constant)]
WORDS_OF_SOURCE = {found for text in CONSTANTS if isinstance(text, str) for found in words_of(text)}


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    token = language.LANGUAGE.set("zh")
    yield
    language.LANGUAGE.reset(token)


@pytest.mark.parametrize("name", CATALOGS)
def test_changed_english_makes_a_translation_stale(name: str) -> None:
    """A template is a text of the code, letter for letter; one that is composed has the code's words."""
    stale = [
        english
        for table_name, english, _ in templates(name)
        if (words_of(english) - WORDS_OF_SOURCE if table_name == COMPOSED else bare(english) not in IN_SOURCE)
    ]
    assert stale == []


@pytest.mark.parametrize("name", CATALOGS)
def test_a_translation_has_the_values_of_its_english(name: str) -> None:
    def values(template: str) -> set[str]:
        """The names of its values, and their numbers in English, where they have none; a choice of forms is none."""
        fields = [field[1:-1] for field in FIELD.findall(template) if "|" not in field]
        unnamed = (str(number) for number, _ in enumerate(field for field in fields if not re.match(r"\w", field)))
        return {field if re.match(r"\w", field) else next(unnamed) for field in fields}

    assert [english for _, english, shown in templates(name) if values(english) != values(shown)] == []


@pytest.mark.parametrize("name", CATALOGS)
def test_no_template_is_there_twice(name: str) -> None:
    every = [english for _, english, _ in templates(name)]
    assert {english for english in every if every.count(english) > 1} == set()


def test_every_sentence_of_rules_causes_and_answers_is_translated(chinese: None) -> None:
    of_rules = [(rule.headline, rule.ended) for rule in RULES]
    of_causes = [(each.headline, each.ended, each.advice) for rule in RULES for each in rule.causes.values()]
    commands = {command for rule in RULES for each in rule.causes.values() for command in each.commands}
    sentences = [sentence for pair in (*of_rules, *of_causes) for sentence in pair if sentence]
    sentences += [*ADVICE.values(), *(line.advice for line in LINES), *map(look_for, sorted(commands))]
    assert [each for each in sentences if untranslated(translated(filled(each)))] == []


def test_every_sentence_of_the_pages_of_rules_is_translated(chinese: None) -> None:
    """But one that is the name of a strategy."""
    texts = [text for rule in RULES for text in (rule.meaning, rule.decided_by)]
    texts += [cause.when for rule in RULES for cause in rule.causes.values()]
    assert [text for text in texts if word(text) == text or untranslated(word(text))] == ["CONSISTENT_HASH"]


def test_a_headline_that_begins_with_a_name_stays_one_in_a_notification(chinese: None) -> None:
    headline = "c1 and c2 in g have a slow listener"
    notice = audit_notice("c", OPENED, "SLOW_LISTENER", headline, (0, 60_000_000), "k")._replace(severity="WARN")
    text = notice_text(News(notice, None, (notice.incident_id,)), {}, None)
    assert text.splitlines()[0] == "新发生 WARN g 的 c1 和 c2 监听器消费慢"


def filled(template: str) -> str:
    """The template with values that it may have."""
    values = defaultdict[str, object](lambda: Names(["name-1"], "client"), more="2 more consumers", threads="")
    return template.format_map(values)


def test_english_words_are_found_in_a_translated_text() -> None:
    assert untranslated("broker-a 的 orders broker-a:0-3 在 `mqadmin of the` 之后，consumeTimeout 为 15 分钟") == []
    assert untranslated("共 4 个队列，no owner") == ["no owner"]
    assert untranslated("2 of 3") == ["of"]


@pytest.mark.parametrize(
    ("english", "shown"),
    [
        ("4 queues", "4 个队列"),
        ("10 min 20 s", "10 分 20 秒"),
        ("No consumer of a owns b broker-a:0-3", "a 没有消费者持有 b broker-a:0-3"),
        ("a, b and c joined", "a, b 和 c 加入"),
        ("No consumer of open is connected", "open 没有在线的消费者"),  # a name stays, whatever it means
        ("The sky is blue.", "The sky is blue."),
        ("Blue sky. Raise readQueueNums to writeQueueNums.", "Blue sky. 请把 readQueueNums 调大到 writeQueueNums。"),
        ("x", "x"),
        ("", ""),
    ],
)
def test_a_text_is_translated_as_far_as_it_is_known(chinese: None, english: str, shown: str) -> None:
    assert translated(english) == shown


def test_english_is_what_the_code_writes() -> None:
    assert (translated("4 queues"), word("queues")) == ("4 queues", "queues")
    assert translated_page('<html lang="en"><b>4 queues</b></html>') == '<html lang="en"><b>4 queues</b></html>'


def test_a_page_keeps_its_scripts_code_and_names(chinese: None) -> None:
    page = (
        '<html lang="en"><script>"4 queues"</script><th title="4 queues">group</th><td>group</td><code>4 queues</code>'
    )
    assert translated_page(page) == (
        '<html lang="zh"><script>"4 queues"</script><th title="4 个队列">消费者组</th><td>group</td>'
        "<code>4 queues</code>"
    )


def test_a_page_stays_escaped(chinese: None) -> None:
    page = "<p>No consumer of &lt;b&gt;&amp;x is connected</p>"
    assert translated_page(page) == "<p>&lt;b&gt;&amp;x 没有在线的消费者</p>"


@pytest.mark.parametrize(
    ("name", "environment", "chosen"),
    [
        ("zh", {}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ("auto", {"LANG": "tlh"}, "en"),
        ("auto", {}, "en"),
    ],
)
def test_the_language_is_the_one_asked_for(name: str, environment: dict[str, str], chosen: str) -> None:
    assert language_of(name, environment) == chosen


def test_a_language_without_a_catalog_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no language 'tlh': choose one of en, zh, auto"):
        language_of("tlh", {})


def test_wide_characters_have_two_columns(chinese: None) -> None:
    """No line of a table is wider than the terminal, and none begins with a sign that ends a part."""
    rows = ["消费者无法读取 broker-b，其中有 7 个消费者组的消息，生产者写入了 legacy 中消费者读不到的队列。"]
    columns = (Column[str]("what happened", lambda row: row, fold=True), Column[str]("state", lambda _: "未恢复"))
    console = Console(width=40, color_system=None)
    with console.capture() as shown:
        console.print(table("Incidents (UTC)", columns, rows, console.width))
    lines = shown.get().splitlines()
    assert max(map(cell_len, lines)) <= 40
    assert lines[0] == "事件（UTC）"
    assert not [line for line in lines if line.strip()[:1] in "，。；："]


def test_a_line_of_wide_characters_is_broken_anywhere_but_before_a_closing_sign(chinese: None) -> None:
    assert folded(Text("消费者组，队列 queues"), 8).plain == "消费者\n组，队列\nqueues"


@pytest.mark.parametrize("command", ["status", "incidents"])
def test_a_plain_line_ends_with_its_sentence_in_the_language(
    command: str, example_warehouse: str, typed: Typed
) -> None:
    lines = typed(f"{command} --language zh", warehouse=example_warehouse, code=ANSWERED).lines
    assert any(line.endswith(" payment-service 的多个消费者共用客户端 ID 172.17.0.1@1") for line in lines), lines
