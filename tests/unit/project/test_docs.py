"""Pages made from the code are up to date and explain all of it, links lead somewhere, and commands parse."""

import re
import shlex
from collections.abc import Mapping
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

from schemas import SOURCES, TABLES, Table
from schemas import handbook as tables
from spark_jobs.cli import handbook as command_line
from spark_jobs.cli.commands import COMMANDS
from spark_jobs.cli.main import build_parser
from spark_jobs.cli.options import OPTIONS
from spark_jobs.config import Configuration
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.status.capacity import SIGNS
from spark_jobs.pipeline.quality import handbook as expectations
from spark_jobs.pipeline.quality.drift import NULLS_ARE_USUAL, ROWS_ARE_USUAL
from spark_jobs.pipeline.quality.suites import of_source
from spark_jobs.setup.java import VERSIONS
from spark_jobs.show.text import handbook as rules
from tests.support.times import HOUR

DOCS = Path(__file__).parents[3] / "docs"
EXPLAINED = Path(__file__).parents[2] / "data" / "explained"
FIRST = (DOCS / "README.md").read_text(encoding="utf-8")
QUESTIONS = (DOCS / "triage.md").read_text(encoding="utf-8")
README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
PAGES = [*DOCS.rglob("*.md"), *DOCS.parent.glob("*.md")]


@pytest.mark.parametrize(
    ("module", "pages"),
    [
        ("schemas.handbook", {tables.PAGE: tables.handbook()}),
        ("spark_jobs.cli.handbook", {command_line.PAGE: command_line.handbook()}),
        ("spark_jobs.pipeline.quality.handbook", {expectations.PAGE: expectations.handbook()}),
        ("spark_jobs.show.text.handbook", {rules.INDEX: rules.index(), **rules.rule_pages()}),
    ],
)
def test_the_pages_are_those_the_code_makes(module: str, pages: Mapping[Path, str]) -> None:
    """Of rules there is no other page."""
    there = [*pages, *(rules.RULE_PAGES.glob("*.md") if rules.INDEX in pages else ())]
    assert {page: page.read_text(encoding="utf-8") for page in there} == pages, f"run python -m {module}"


def test_every_rule_is_explained() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        texts = [rule.meaning, rule.decided_by]
        texts += [text for cause in rule.causes.values() for text in (cause.when, cause.advice)]
        assert all(texts), rule.name
        assert rule.causes, rule.name


def test_the_signs_of_capacity_are_rules_and_causes_that_exist() -> None:
    known = {rule.name for rule in RULES} | {f"{rule.name}/{cause}" for rule in RULES for cause in rule.causes}
    assert {sign for signs in SIGNS.values() for sign in signs} <= known


def test_every_expectation_of_steps_is_explained() -> None:
    names = {one.name for table in SOURCES for one in of_source(table, HOUR, Configuration())}
    assert names == {"few_rows_are_quarantined", "cadence_is_kept"}
    for name in (*names, ROWS_ARE_USUAL, NULLS_ARE_USUAL, "content_is_as_published"):
        assert f"| `{name}` |" in expectations.PAGE.read_text(encoding="utf-8"), name


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_every_column_is_on_it_with_its_meaning(table: Table) -> None:
    text = tables.PAGE.read_text(encoding="utf-8")
    common, _, rest = text.partition("## Sources")
    section = re.search(rf"^### {table.name}$(.*?)(?=^##|\Z)", rest, re.DOTALL | re.MULTILINE)
    assert section
    item = re.compile(r"^- \**`(\w+)`\** [^:]+: .+$", re.MULTILINE)
    of_table, of_all = {*item.findall(section[1])}, {*item.findall(common)}
    named = {*re.findall(r"`(\w+)`", " ".join(re.findall(r"(?:Key|Also): (.*)", section[1])))}
    assert of_table | (named & of_all) == {*table.schema.names}


def test_the_first_page_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\((\w[\w-]*\.md)\)", FIRST))
    """A page in another language, `NAME.zh.md`, is behind the English one."""
    assert linked == {page.name for page in DOCS.glob("*.md") if page.name.count(".") == 1} - {"README.md"}
    assert "(docs/README.md)" in README


def test_the_explanation_in_the_tutorial_is_that_of_the_recording() -> None:
    (excerpt,) = re.findall(r"^```text\n(.*?)^```", (DOCS / "tutorial.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert " ".join(excerpt.split()) in " ".join((EXPLAINED / "twins.txt").read_text("utf-8").split())


def test_the_commands_that_answer_questions_exist_with_their_options() -> None:
    told = [shlex.split(text) for text in re.findall(r"`([a-z][^`]*)`", QUESTIONS)]
    commands = [words for words in told if words[0] in COMMANDS]
    assert {words[0] for words in commands} >= {"status", "incidents", "clients", "runs", "verify", "trends"}
    for first, *words in commands:
        assert {word for word in words if word.startswith("--")} <= set(COMMANDS[first].options), first
    for option in re.findall(r"(--[a-z-]+)", QUESTIONS):
        assert option in OPTIONS


def test_the_readme_is_short_and_begins_with_the_question_and_the_picture() -> None:
    assert len(README.split()) <= 700
    assert max(map(len, re.findall(r"(?<=\| )[^|\n]+(?= \|)", README))) <= 80
    question, picture, commands, finding = (
        README.index(part) for part in ("helped?*", "![", "$ make demo ", "```text")
    )
    assert question < picture < commands < finding
    assert re.findall(r"^\$ (.*?) +#", README, re.MULTILINE) == ["make demo", "make test"]


def test_the_pages_are_short() -> None:
    """Those in English, without the pages of the rules, which `rule NAME` shows."""
    pages = [page for page in DOCS.glob("*.md") if page.name.count(".") == 1]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 31_000


def test_the_readme_names_limits() -> None:
    """How late an answer is, and groups that are not replayed."""
    assert "minutes late" in README
    assert "POP or a proxy are mostly\n[not replayed]" in README


def test_the_readme_shows_a_finding_as_people_see_it() -> None:
    (shown,) = re.findall(r"^```text\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert (EXPLAINED / "incident.txt").read_text(encoding="utf-8").startswith(shown)


def test_the_readme_names_the_findings_in_ten_lines() -> None:
    assert len(re.findall(r"^\d+\. \*\*.*\*\*: .*\.$", README, re.MULTILINE)) == 10
    named = set(re.findall(r"`([A-Z_]+)`", README))
    assert {"UNASSIGNED_QUEUE", "DUPLICATE_CLIENT_ID"} <= named
    assert named <= {rule.name for rule in RULES}


def test_nothing_is_installed_from_an_index_that_does_not_have_it() -> None:
    """Every `pip install` of this project names the wheel that `make dist` builds, of this version, with its extras."""
    settings = ConfigParser()
    settings.read(DOCS.parent / "setup.cfg")
    wheel = f"dist/rebalance_audit-{settings['metadata']['version']}-py3-none-any.whl"
    for page in PAGES:
        for words in re.findall(r"pip install (.*?)(?:`|$)", page.read_text(encoding="utf-8"), re.MULTILINE):
            for word in shlex.split(words, comments=True):
                if "rebalance" in word:
                    path, _, extras = word.rstrip("]").partition("[")
                    assert path == wheel, page.name
                    assert {*extras.split(",")} <= {*settings["options.extras_require"]}, page.name
    assert "Development Status :: 4 - Beta" in settings["metadata"]["classifiers"]


def test_versions_are_the_same_everywhere() -> None:
    """Classifiers, CI and docs/support.md name the same Pythons and Javas, and so does the check of Java."""
    support = (DOCS / "support.md").read_text(encoding="utf-8")
    tried = {
        part: set(re.findall(r"\d+(?:\.\d+)?", " ".join(re.findall(rf"^\| {part} \| (.*?) \|", support, re.MULTILINE))))
        for part in ("Python", "Java")
    }
    setup = (DOCS.parent / "setup.cfg").read_text(encoding="utf-8")
    ci = yaml.safe_load((DOCS.parent / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8"))
    assert tried["Python"] == set(re.findall(r"Python :: (3\.\d+)", setup))
    assert tried["Java"] == set(ci["jobs"]["test"]["strategy"]["matrix"]["java"]) == {*map(str, VERSIONS)}
    assert "not tried" not in "".join(re.findall(r"^\| (?:Python|Java) .*", support, re.MULTILINE))


def test_the_reference_of_the_command_line_has_every_command_and_what_it_requires() -> None:
    page = command_line.handbook()
    assert sorted(re.findall(r"^### (.*)$", page, re.MULTILINE)) == sorted(COMMANDS)
    shared = page.partition("### ")[0]
    assert "- `--warehouse URI`: location of the tables: a path, a URI, or catalog.schema\n" in shared
    assert (
        "- `--fail-on SEVERITY`: exit with 1 from this severity on: INFO, WARN, ERROR or NEVER (default: ERROR)\n"
        in shared
    )
    run, capture = (page.partition(f"### {name}\n")[2].partition("\n### ")[0] for name in ("run", "capture"))
    assert "Shared: **`--warehouse`**, **`--interval`**, `--cluster`, `--group`, " in run
    assert "- **`--namesrv HOST:PORT`**: name servers, " in capture


def _anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match(r"https?://", link) and not (target.exists() and (not anchor or anchor in _anchors(target))):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_a_code_block_parses(page: Path) -> None:
    blocks = "".join(re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    for line in re.findall(r"^\$ \S*rebalance-audit (.*)$", re.sub(r"\\\n\s*", "", blocks), re.MULTILINE):
        words = shlex.split(line, comments=True)
        assert build_parser().parse_args(words).name == words[0]


#: What stands for the words of a page that are no values.
_VALUES = {"AFTER": "2026-11-21T01/2026-11-21T02", "TIME": "2026-11-21T02:00"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_command_in_a_sentence_has_options_with_values_that_exist(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may lack options that the command requires, and the value of the last one."""
    prose = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for text in re.findall(r"`(?:rebalance-audit )?([a-z][a-z-]* [^`]*--[^`]*)`", prose):
        words = [_VALUES.get(word, word) for word in shlex.split(text)]
        if words[0] in COMMANDS:
            try:
                build_parser().parse_args(words)
            except SystemExit:
                error = capsys.readouterr().err
                assert re.search("(are|is) required|expected one argument", error), text
