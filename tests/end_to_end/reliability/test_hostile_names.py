"""A cluster whose groups, topics, brokers and clients all have hostile names: whatever is told of it is text."""

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.cli.main import main
from spark_jobs.store.warehouse import Warehouse
from tests.end_to_end.reliability.names import MARKUP, NAMES
from tests.support.browser import needs_browser
from tests.support.opened import Opened

pytestmark = pytest.mark.reliability

CLUSTER = "<b>=1+1\x1b[2J\u202e'; DROP TABLE findings; --"
INTERVAL = "2026-03-01T10:00/2026-03-01T11:00"
_START = 1_772_359_200_000  # 2026-03-01T10:00Z
#: What rich itself writes to a terminal: colors, and a spinner's line anew. No style is plain red, as hostile names
#: ask for.
_STYLE = re.compile(r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\r?\x1b\[(?:2K|1A)")


def lines_of(name: str) -> Iterator[dict[str, Any]]:
    """A group, topic and broker of that name, for ten minutes; two clients have one id: queues are nobody's."""
    text = json.dumps(name)
    clients = ",".join(f'{{"clientAddr":"10.0.0.1:{port}","clientId":{text},"language":"JAVA"}}' for port in (1, 2))
    subscribed = f'{{{text}:{{"subString":{text},"topic":{text}}}}}'
    connected = f'{{"connectionSet":[{clients}],"messageModel":"CLUSTERING","subscriptionTable":{subscribed}}}'
    hosted = f'{{"queueDatas":[{{"brokerName":{text},"perm":6,"readQueueNums":4,"writeQueueNums":4}}]}}'
    for number in range(31):
        at = _START + number * 20_000
        queues = ",".join(
            f'{{"brokerName":{text},"queueId":{queue},"topic":{text}}}:'
            f'{{"brokerOffset":{number * 10},"consumerOffset":{1 + number // 9 * (queue % 2)},"lastTimestamp":{at}}}'
            for queue in range(4)
        )
        yield {"kind": "connection", "at": at, "group": name, "broker": name, "body": connected}
        yield {"kind": "route", "at": at, "topic": name, "body": hosted}
        yield {"kind": "stats", "at": at, "group": name, "topic": name, "body": f'{{"offsetTable":{{{queues}}}}}'}


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("hostile")
    recording = folder / "=1+1 '<b>\u202e.jsonl"
    lines = [{"kind": "meta", "cluster": CLUSTER}, *(line for name in NAMES for line in lines_of(name))]
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines) + "\x1b[2J<b>\n", encoding="utf-8")
    where = ["--warehouse", str(folder / "warehouse")]
    # Its last line is quarantined.
    assert main(["ingest", str(recording), *where]) == 2
    assert main(["run", *where, "--interval", INTERVAL]) == 1
    return Warehouse.parse(str(folder / "warehouse"))


Said = Callable[..., str]


@pytest.fixture
def said(audited: Warehouse, capsys: pytest.CaptureFixture[str]) -> Said:
    """What a command says on stdout; what it says on stderr is looked at here."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        code = main([*arguments, "--warehouse", audited.location])
        output = capsys.readouterr()
        assert code in (0, 1, 2), output.err
        assert is_inert(output.err)
        return output.out

    return run


def is_inert(output: str) -> bool:
    assert "\x1b[31m" not in output
    return all(character.isprintable() or character == "\n" for character in _STYLE.sub("", output))


COMMANDS = (
    *(["status", "--all"], ["incidents"], ["trends", "--days", "7"], ["runs"], ["clients", ""]),
    *(["run", "--interval", INTERVAL], ["validate"]),
)


@pytest.mark.parametrize("on_terminal", [False, True], ids=["lines", "terminal"])
def test_what_is_printed_steers_no_terminal(said: Said, on_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    for command in COMMANDS:
        assert is_inert(said(*command)), command
    for name in NAMES[on_terminal::4]:
        assert is_inert(said("explain", f"--group={name}", f"--cluster={CLUSTER}", "--at", "2026-03-01T10:05")), name


def test_json_gives_the_names_as_they_are(said: Said) -> None:
    for command in ("status", "incidents"):
        text = said(command, "--json")
        document = json.loads(text)
        assert text.isascii()
        told = document["groups"] if command == "status" else document["incidents"]
        groups = [[one["consumer_group"]] if command == "status" else one["consumer_groups"] for one in told]
        assert {name for names in groups for name in names} == set(NAMES)
        assert {one["cluster"] for one in told} == {CLUSTER}


class _Markup(HTMLParser):
    """Elements, and attributes that would run something."""

    def __init__(self) -> None:
        super().__init__()
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        leads = [value or "" for name, value in attrs if name in ("href", "src", "action", "formaction")]
        self.active += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.active += [f"{tag} {value}" for value in leads if "javascript:" in value.lower()]
        self.active += [tag] if tag in ("img", "iframe", "object", "embed") else []


def test_pages_hold_no_markup_of_names(said: Said, audited: Warehouse, tmp_path: Path) -> None:
    said("report", "--interval", INTERVAL, "--out", str(tmp_path / "report.html"))
    assert audited.local_path is not None
    docs = sorted((audited.local_path / "_quality").rglob("*.html"))
    assert len(docs) > 5
    for page in (tmp_path / "report.html", *docs):
        text, found = page.read_text(encoding="utf-8"), _Markup()
        found.feed(text)
        assert found.active == [], page
        assert not [name for name in MARKUP[:3] if name in text]
        # The report shows names as they are, each in a box of its own (unicode-bidi: isolate).
        assert page.name == "report.html" or not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", text), (
            page
        )


@needs_browser
def test_the_report_runs_nothing_in_a_browser(said: Said, open_page: Callable[..., Opened], tmp_path: Path) -> None:
    said("report", "--interval", INTERVAL, "--out", str(tmp_path / "report.html"))
    opened = open_page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "owned" not in opened.page.title()
    assert (len(opened.asked), opened.complaints) == (1, [])  # itself


def test_no_file_has_such_a_name(audited: Warehouse) -> None:
    assert audited.local_path is not None
    names = {path.name for path in audited.local_path.rglob("*")}
    assert len(names) > 50
    assert not [name for name in names if not re.fullmatch(r"[A-Za-z0-9_.=%+ -]+", name)]
