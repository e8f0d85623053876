"""A client's time-out is no observation if the broker through which it was called is silent too."""

import json

from spark_jobs.ingest.files import Line
from spark_jobs.ingest.recording import NoObservation, Row, outcomes
from spark_jobs.ingest.silent_brokers import without_silent_brokers
from tests.support.fakes import TIMED_OUT

AT = 1_764_000_000_000


def call(at: int, called: str, request: str, fate: str) -> dict[str, object]:
    """The outcome of a call about group g, or its client c1, so many seconds after the first."""
    subject = "g c1" if request == "running" else "g"
    about = {"called": called, "request": request, "subject": subject}
    return {"kind": "call", "at": AT + at * 1000, **about, "body": json.dumps({"fate": fate})}


def silence(at: int, called: str, error: str = TIMED_OUT, fate: str = "TIMED_OUT") -> list[dict[str, object]]:
    """The lines of a client that does not answer, as the recorder writes them."""
    line = {"kind": "running", "at": AT + at * 1000, "group": "g", "client": "c1", "error": error}
    return [line, call(at, called, "running", fate)]


def heard(*lines: dict[str, object]) -> list[bool]:
    """By silence, whether it is an observation of the client; no line is lost, and all are in their order."""
    contents = [Line(i, json.dumps(line).encode()) for i, line in enumerate(lines, start=1)]
    found = list(without_silent_brokers(outcomes(contents, "c")))
    assert [outcome.line for outcome in found] == contents
    silences = [outcome for outcome, line in zip(found, lines, strict=True) if line["kind"] == "running"]
    assert {type(outcome) for outcome in silences} <= {Row, NoObservation}
    return [isinstance(outcome, Row) for outcome in silences]


def test_a_time_out_counts_while_the_same_broker_answers() -> None:
    assert heard(call(0, "a", "connection", "ANSWERED"), *silence(3, "a")) == [True]
    # Code 206 is an answer, too.
    assert heard(call(0, "a", "connection", "NOT_ONLINE"), *silence(3, "a")) == [True]


def test_a_time_out_through_a_silent_broker_does_not_count() -> None:
    for fate in ("TIMED_OUT", "REFUSED"):
        answered_before = call(0, "a", "connection", "ANSWERED"), call(3, "a", "connection", fate)
        skipped, other = call(4, "a", "connection", "NOT_ASKED"), call(5, "b", "connection", "ANSWERED")
        assert heard(*answered_before, *silence(6, "a"), skipped, *silence(9, "a"), other) == [False, False]
        back = call(20, "a", "connection", "ANSWERED")
        assert heard(*answered_before, other, *silence(6, "b"), back, *silence(23, "a")) == [True, True]


def test_a_time_out_before_anything_is_known_of_the_broker_does_not_count() -> None:
    assert heard(*silence(3, "a"), call(3, "a", "connection", "ANSWERED")) == [False]


def test_a_broker_that_says_that_the_client_is_late_has_answered() -> None:
    late = "MQClientException CODE: 207  DESC: consumer <g> <c1> Timeout"
    assert heard(call(0, "a", "connection", "TIMED_OUT"), *silence(3, "a", late, "FAILED")) == [True]


def test_a_time_out_without_the_line_of_its_call_counts() -> None:
    """Another recorder may write no calls."""
    alone, _ = silence(3, "a")
    assert heard(call(0, "a", "connection", "TIMED_OUT"), alone, call(9, "a", "running", "TIMED_OUT")) == [True]
    assert heard(alone) == [True]
