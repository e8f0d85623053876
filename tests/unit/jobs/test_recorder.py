"""Brokers that did not answer the recorder while nothing was recorded, read and reported. No Spark."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from schemas import CAPTURE_CALLS
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.show.recorder import calls_in, recorder_lines
from spark_jobs.store.read.delta import delta_tables
from tests.support.stored import write
from tests.support.times import at

GAP = Interval(at(100), at(2000))


def call(second: float, called: str, fate: str, request: str = "connection", cluster: str = "c") -> dict[str, Any]:
    key = {"cluster": cluster, "called": called, "request": request, "subject": "g", "captured_at": at(second)}
    return key | {"captured_date": at(second).date(), "outcome": fate}


def calls_of(folder: Path, *calls: dict[str, Any]) -> Counter[tuple[str, str]] | None:
    write(folder, CAPTURE_CALLS, list(calls))
    return calls_in(delta_tables(str(folder)), "c", GAP)


def sentences(calls: Mapping[tuple[str, str], int] | None) -> list[str]:
    return [line.text for line in recorder_lines(calls)][2:]


def test_calls_are_those_of_the_first_ten_minutes_and_none_to_clients(tmp_path: Path) -> None:
    assert calls_in(delta_tables(str(tmp_path)), "c", GAP) is None
    assert calls_of(
        tmp_path,
        call(99, "broker-a", "ANSWERED"),
        call(100, "broker-b", "TIMED_OUT"),
        call(101, "broker-b", "NOT_ASKED"),
        call(102, "broker-b", "NOT_ASKED", "stats"),
        call(103, "broker-b", "TIMED_OUT", "running"),
        call(103, "broker-b", "TIMED_OUT", "stacks"),
        call(104, "broker-b", "TIMED_OUT", cluster="d"),
        call(699, "broker-a", "ANSWERED"),
        call(700, "broker-a", "ANSWERED"),
    ) == {("broker-b", "TIMED_OUT"): 1, ("broker-b", "NOT_ASKED"): 2, ("broker-a", "ANSWERED"): 1}


def test_who_was_silent_is_named_with_what_became_of_the_calls() -> None:
    calls = {
        ("broker-b", "TIMED_OUT"): 3,
        ("broker-b", "NOT_ASKED"): 1200,
        ("broker-b", "ANSWERED"): 1,
        ("proxy 10.0.0.1:8080", "REFUSED"): 1,
        ("broker-a", "ANSWERED"): 9,
        ("broker-a", "NOT_ONLINE"): 1,
        ("name server", "FAILED"): 1,
    }
    assert sentences(calls) == [
        "broker-b did not answer: of 1,204 calls 3 timed out and 1,200 not made, as it had been silent before.",
        "proxy 10.0.0.1:8080 did not answer: of 1 call 1 refused.",
        "broker-a and name server answered.",
    ]


def test_a_recorder_that_was_not_there_and_a_table_that_is_not() -> None:
    assert sentences({}) == ["None: the recorder was not running, or what it recorded is not loaded."]
    assert list(recorder_lines(None)) == []
