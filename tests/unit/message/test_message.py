"""`message` about the recording of the project. The committed offsets behind the answers, of the raw samples:

payment-service, payments broker-a:0: 02:09:55 1206, 02:10:05 1230, 02:10:15 1255; one shared client id from 02:07:05
payment-service, payments broker-a:5: 774 from 02:07:05 to 02:17:15, 934 at 02:17:26, as the second one has left
order-service, orders broker-a:1: 02:09:55 1205, 02:10:05 1230
batch-export, orders broker-a:1: 603 from 02:05:56 to 02:13:46, offline, then 635 and, at 02:14:06, 1830; 02:17:56 2379,
02:18:06 2401, …, 02:18:46 2489, 02:18:56 1951, 02:19:06 2534: a reset
tick-service, ticks broker-a:1: 58 at 02:02:28, 02:21:45 1985, 02:21:55 2004; price-cache broadcasts

And of public reports:

c10, ledger-events broker-a:2: 102064 to 02:29:45, though pulled to 104434, then 104484 at 02:30:05, 104524 at 02:30:25
c103, page-view broker-a:0: 02:29:45 8339150, 02:30:05 8340150, 02:30:25 8609200; oldest 6400000, 8608300 since 02:30:05
c107, ledger-line broker-a:0: 1150000 to 02:19:45, 1206025 at 02:20:05, without a member
"""

from pathlib import Path

import pytest

from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.installation import ROOT
from tests.support.commands import Printed, Typed
from tests.support.look import audit_into
from tests.support.recordings import HOUR
from tests.support.tables import described

#: what is asked | exit code | queue and offset | group | outcome, reason, last sample before the passing, first after.
_ANSWERS = """
    a shared client id | 0 | payments broker-a:0 1220 | payment-service | CONSUMED_TWICE TWO_OWNERS 02:09:55 02:10:05
    the next message   | 0 | payments broker-a:0 1230 | payment-service | CONSUMED_TWICE TWO_OWNERS 02:10:05 02:10:15
    the last before it | 0 | payments broker-a:0 1229 | payment-service | CONSUMED_TWICE TWO_OWNERS 02:09:55 02:10:05
    owners since | 0 | payments broker-a:5 780 | payment-service | MAYBE_CONSUMED_TWICE OWNER_CHANGED 02:17:15 02:17:26
    one owner          | 0 | orders broker-a:1 1220 | order-service | CONSUMED PASSED 02:09:55 02:10:05
    views differ | 0 | orders broker-b:9 770 | order-service | MAYBE_CONSUMED_TWICE OWNER_CHANGED 02:24:05 02:24:15
    offline meanwhile  | 0 | orders broker-a:1 603 | batch-export | MAYBE_CONSUMED_TWICE OWNER_CHANGED 02:13:46 02:13:56
    a reset            | 0 | orders broker-a:1 2400 | batch-export | CONSUMED_TWICE WENT_BACK 02:17:56 02:18:06
    before the reset   | 0 | orders broker-a:1 1940 | batch-export | MAYBE_CONSUMED_TWICE WENT_BACK 02:14:46 02:14:56
    before the samples | 2 | ticks broker-a:1 57 | tick-service | UNKNOWN PASSED_BEFORE - 02:02:28
    not stored         | 0 | ticks broker-a:1 99999 | tick-service | NOT_STORED BEYOND_THE_END - -
    broadcasting       | 2 | ticks broker-a:1 2000 | price-cache | UNKNOWN BROADCASTING - -
    POP                | 2 | telemetry broker-a:1 900 | pop-service | UNKNOWN HANDED_OUT - -
    tags               | 2 | retail broker-a:2 700 | tag-service | UNKNOWN FILTERED 02:09:36 02:09:46
    a retry topic      | 0 | %RETRY%order-service broker-a:0 0 | order-service | NOT_STORED BEYOND_THE_END - -
"""
#: what is asked | cluster | queue and offset | outcome, reason, last sample before the passing, first after.
_REPORTED = """
    committed unread     | c10  | ledger-events broker-a:2 103000 | SKIPPED JUMPED_OVER 02:29:45 02:30:05
    consumed afterwards  | c10  | ledger-events broker-a:2 104490 | CONSUMED PASSED 02:30:05 02:30:25
    deleted before       | c103 | page-view broker-a:0 8500000 | LOST JUMPED_TO_OLDEST 02:30:05 02:30:25
    the oldest that is   | c103 | page-view broker-a:0 8608300 | CONSUMED PASSED 02:30:05 02:30:25
    deleted as it passed | c103 | page-view broker-a:0 8340000 | CONSUMED PASSED 02:29:45 02:30:05
    skipped offline      | c107 | ledger-line broker-a:0 1180000 | SKIPPED JUMPED_OVER 02:19:45 02:20:05
"""
_TICKS = "message --topic ticks --queue broker-a:1"


@pytest.mark.parametrize(("code", "place", "group", "expected"), described(_ANSWERS))
def test_the_answers_are_those_of_the_samples(
    typed: Typed, example_warehouse: str, code: str, place: str, group: str, expected: str
) -> None:
    topic, queue, offset = place.split()
    words = ["--topic", topic, "--queue", queue, "--offset", offset, "--group", group, "--json"]
    printed = typed("message", *words, warehouse=example_warehouse, code=int(code))
    assert _answer(printed) == expected


def _answer(printed: Printed) -> str:
    """The outcome, reason and times of the only group."""
    (message,) = printed.document["messages"]
    times = (message["passed_after"], message["passed_by"])
    return " ".join([message["outcome"], message["reason"], *(at[11:19] if at else "-" for at in times)])


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reported")
    names = ("10_go_commit_jumps", "103_deleted_before_read", "107_skipped_while_offline")
    audit_into(folder, HOUR, 20, [ROOT / "tests" / "data" / "field" / f"{name}.jsonl.gz" for name in names])
    return folder


@pytest.mark.parametrize(("cluster", "place", "expected"), described(_REPORTED))
def test_what_was_skipped_or_lost(typed: Typed, reported: Path, cluster: str, place: str, expected: str) -> None:
    topic, queue, offset = place.split()
    words = ["--cluster", cluster, "--topic", topic, "--queue", queue, "--offset", offset, "--json"]
    assert _answer(typed("message", *words, warehouse=reported)) == expected


def test_without_a_group_each_that_reads_the_topic_has_an_answer(typed: Typed, example_warehouse: str) -> None:
    printed = typed(f"{_TICKS} --offset 2000 --json", warehouse=example_warehouse, code=2)
    answers = {each["consumer_group"]: each["outcome"] for each in printed.document["messages"]}
    assert answers == {"price-cache": "UNKNOWN", "tick-service": "CONSUMED"}


def test_people_read_what_proves_the_outcome(typed: Typed, example_warehouse: str) -> None:
    line = "message --topic payments --queue broker-a:0 --group payment-service --stored-at 2026-11-21T02:10Z"
    printed = typed(line, warehouse=example_warehouse)
    between = "2026-11-21T02:09:55Z and 2026-11-21T02:10:05Z"
    assert printed.lines == [
        "Messages 1206 to 1230 in broker-a:0 of payments (cluster demo)",
        "By the samples of 2026-11-21T02:09Z/2026-11-22T02:10Z. All times are UTC.",
        "",
        "payment-service: CONSUMED_TWICE",
        f"  1206: It was passed between {between}, while several connections owned the queue, and each consumes every "
        "message.",
        "  1230: It was passed between 2026-11-21T02:10:05Z and 2026-11-21T02:10:15Z, while several connections owned "
        "the queue, and each consumes every message.",
        f"  Stored between {between}.",
        "  Owner from 2026-11-21T02:07:05Z to 2026-11-21T02:17:26Z: 172.17.0.1@1 and 172.17.0.1@1 "
        "(DUPLICATE_CLIENT_ID)",
        "  Meanwhile the retry topic got 0 messages, the dead letters unknown.",
    ]
    assert "explain --warehouse" in printed.err


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("--topic tickz --queue broker-a:1 --offset 1", "there is no topic tickz: did you mean ticks?"),
        (
            "--topic ticks --queue broker-x:1 --offset 1",
            "there is no queue broker-x:1 of ticks: did you mean broker-b or broker-a?",
        ),
        (
            "--topic ticks --queue broker-a:9 --offset 1",
            "there is no queue broker-a:9 of ticks: the broker has broker-a:0-5",
        ),
        ("--topic ticks --queue broker-a:1 --offset 1 --group tick-servic", "did you mean tick-service"),
        ("--topic ticks --queue broker-a:1 --offset 1 --group ledger", "ledger did not read ticks in"),
        ("--topic ticks --queue broker-a:1 --offset 1 --cluster dem", "there is no cluster dem: did you mean demo?"),
        ("--topic ticks --queue broker-a:1 --stored-at 2026-12-24T02:10Z", "no group read ticks in"),
        ("--topic ticks --queue broker-a:1 --stored-at 2026-11-21T02:01Z", "show what broker-a:1 of ticks got then"),
        ("--topic %RETRY%ledger --queue broker-a:0 --stored-at 2026-11-21T02:10Z", "got no message between"),
        ("--topic ticks --queue broker-a --offset 1", "'broker-a' is not a queue: write it as broker-a:3"),
        ("--topic ticks --queue broker-a:1 --offset -1", "'-1' is not a whole number"),
        ("--topic ticks --queue broker-a:1 --offset x", "'x' is not a whole number"),
        ("--topic ticks --queue broker-a:1", "one of the arguments --offset --stored-at is required"),
        ("--topic ticks --queue broker-a:1 --offset 1 --stored-at 2026-11-21T02:10Z", "not allowed with argument"),
    ],
)
def test_bad_input_is_an_error_that_says_what_to_do(
    typed: Typed, example_warehouse: str, line: str, error: str
) -> None:
    assert error in typed(f"message {line}", warehouse=example_warehouse, code=3).err


def test_snapshots_that_retention_deleted_are_named(
    typed: Typed, example_warehouse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.show.message_facts.kept_since", lambda *_: parse_utc("2026-11-21T02:02:20Z"))
    printed = typed(f"{_TICKS} --offset 5 --group tick-service", warehouse=example_warehouse, code=2)
    sentence = "Snapshots before 2026-11-21T02:02:20Z were deleted by retention; results are kept."
    assert printed.lines[3:5] == ["tick-service: UNKNOWN", f"  {sentence}"]
