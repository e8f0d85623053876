"""Tables on a narrow terminal: no word is broken, and a long name at punctuation only. No Spark."""

import re
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from spark_jobs.cli.commands.backfill import show_backfill
from spark_jobs.cli.commands.clients import ClientSeen, show_clients
from spark_jobs.cli.commands.maintain import show_maintained
from spark_jobs.cli.commands.runs import show_runs
from spark_jobs.cli.commands.validate import show_failures
from spark_jobs.cli.tables import folded
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.errors import PublishConflictError
from spark_jobs.operate.backfill import Filling
from spark_jobs.operate.upkeep import Maintained
from spark_jobs.pipeline.run_record import RunRecord
from tests.support.commands import ANSWERED, Typed
from tests.support.consoles import shown
from tests.support.stored import audit_run
from tests.support.times import at

STEP, NEXT = Interval(at(0), at(3600)), Interval(at(3600), at(7200))
_GROUP = "--group payment-service"
#: Between pieces of a name.
_PUNCTUATION = r"[-_/:@#;=+&|%,]"
COMMANDS = [
    "status --all",
    "incidents",
    "trends",
    "clients 10. --interval 2026-11-21T02:00/2026-11-21T03:00",
    f"what-if {_GROUP} --unique-ids --case '--autoscale lag=500,max=4,min=2,every=1m,down-after=2m,start=0s'",
    f"what-if {_GROUP} --plan 2",
    f"what-if {_GROUP} --size --backlog-below 100",
    "what-if --size",
]


def broken(narrow: str, wide: str) -> list[str]:
    """The words of the narrow text that are no word of the wide one, and no part of one between punctuation."""
    whole = set(wide.split())
    pieces = {
        word[start:end]
        for word in whole
        for start in (0, *(match.end() for match in re.finditer(_PUNCTUATION, word)))
        for end in (*(match.end() for match in re.finditer(_PUNCTUATION, word)), len(word))
    }
    return [word for word in narrow.split() if word not in pieces]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_break_no_word(
    command: str, width: int, example_warehouse: str, monkeypatch: pytest.MonkeyPatch, typed: Typed
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")

    def of_width(columns: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        printed = typed(f"{command} --quiet", warehouse=example_warehouse, code=ANSWERED).out
        return re.sub(r"\x1b\[[\d;]*m", "", printed)

    narrow, wide = of_width(width), of_width(1000)
    table = [line for line in narrow.splitlines() if line.startswith(" ")]
    assert len(table) > 3
    assert max(map(len, table)) <= width
    assert broken("\n".join(table).replace("─", ""), wide) == []


_LONG = "com.example.orders_of_the_whole_world-consumer-group"
_RUN, _CLIENT = "7c5df2e43f9942a9ab57cabff304f0bc", "10.31.79.121@7177#1317818986079"
_HASHES = {"code_version": "1.0.0+g0123456789ab", "configuration_hash": "f" * 64}
RUNS = [audit_run(STEP, {}, **_HASHES, run_id=_RUN, consumer_group=group) for group in (_LONG, None)]
CLIENTS = [
    ClientSeen("c", group, _CLIENT, "10.31.79.121:54321", None, 1, at(0), at(60), ["t"])
    for group in (_LONG, "[red]g\x1b[2J")
]
FAILURE = (
    {"severity": "critical", "table_name": "membership_snapshots"}
    | {"expectation": "strategy_comparison_adds_up_to_queues", "column_name": "consumer_group"}
    | {"step_start": at(0), "observed_value": 3.0, "unexpected_count": 3000, "unexpected_percent": 37.5}
    | {"examples": [f'{{"consumer_group":"{_LONG}","captured_at":"2026-03-01T10:00Z"}}']}
)
TABLE = Maintained("membership_snapshots", 12345, 123, 10**12, 10**12, 123456, 123458, 30)
RECORD, HELD = RunRecord({"run_id": "r"}, [], {"ERROR": 1}), PublishConflictError("a held")
#: By command what shows its table, and words that it has.
SHOWN: dict[str, tuple[Callable[[Console], None], list[str]]] = {
    "runs": (lambda console: show_runs(console, RUNS), [_RUN, "everything"]),
    "clients": (lambda console: show_clients(console, CLIENTS[:1], STEP), ["03-01 10:01:00"]),
    "clients of a short group": (lambda console: show_clients(console, CLIENTS[1:], STEP), [_CLIENT, "[red]g\\x1b[2J"]),
    "failures": (lambda console: show_failures(console, [FAILURE], 70), []),
    "maintained": (lambda console: show_maintained(console, [TABLE]), []),
    "backfill": (lambda console: show_backfill(console, {STEP: RECORD, NEXT: HELD}, Filling([])), []),
}


@pytest.mark.parametrize(("show", "words"), SHOWN.values(), ids=SHOWN)
def test_tables_of_other_commands_break_no_word(show: Callable[[Console], None], words: list[str]) -> None:
    narrow, middle, wide = (shown(show, width, on_terminal=True) for width in (80, 160, 1000))
    for lines, width in ((narrow, 80), (middle, 160)):
        assert max(map(len, lines[:-1])) <= width
        assert all(word in "\n".join(lines) for word in words)
    assert broken(" ".join(narrow).replace("─", ""), " ".join(wide)) == []


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("payment-service", 15, ["payment-service"]),
        ("payment-service", 14, ["payment-", "service"]),
        ("No consumer of payment-service", 15, ["No consumer of", "payment-service"]),
        ("2026-11-21T02:00Z/2026-11-21T03:00Z", 20, ["2026-11-21T02:00Z/", "2026-11-21T03:00Z"]),
        ("lag=500,max=4", 8, ["lag=500,", "max=4"]),
        ("12,345", 3, ["12,345"]),
        ("10.0.0.1@7#1", 9, ["10.0.0.1@", "7#1"]),
        ("one\ntwo three", 5, ["one", "two", "three"]),
        ("", 3, [""]),
    ],
)
def test_text_is_broken_between_words_else_behind_punctuation(text: str, width: int, lines: list[str]) -> None:
    assert folded(Text(text), width).plain.split("\n") == lines


def test_a_style_stays_with_its_words() -> None:
    text = folded(Text.assemble("payment-service", ("\nclusters-of-ours", "dim")), 10)
    assert [text.plain[span.start : span.end] for span in text.spans if span.style == "dim"] == ["clusters-", "of-ours"]
