"""Outcomes of calls by the text of their exceptions."""

import pytest

from spark_jobs.capture.calls import Call, Callee, CallOutcome, Request, outcome_of
from tests.support import fakes

GATEWAY = "MQClientException Send request to < 10.0.0.1:9876 > failed"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (fakes.NOT_ONLINE, CallOutcome.NOT_ONLINE),
        ("code 206 the consumer group[g] not online", CallOutcome.NOT_ONLINE),
        (fakes.NOT_IN_GROUP, CallOutcome.NOT_IN_GROUP),
        ("MQClientException CODE: 1  DESC: The Consumer Group not exist in this consumer", CallOutcome.NOT_IN_GROUP),
        (fakes.TIMED_OUT, CallOutcome.TIMED_OUT),
        ("RemotingTooMuchRequestException sendDefaultImpl call timeout", CallOutcome.REFUSED),
        (fakes.REFUSED, CallOutcome.REFUSED),
        ("RemotingSendRequestException send request to </10.0.0.1:10911> failed", CallOutcome.REFUSED),
        ("MQClientException connect to null failed", CallOutcome.REFUSED),
        (fakes.NO_ROUTE, CallOutcome.FAILED),
        ("MQClientException CODE: 1  DESC: The Consumer <g> <c> not online", CallOutcome.FAILED),
        ("MQBrokerException CODE: 2067  DESC: another code", CallOutcome.FAILED),
    ],
)
def test_what_an_error_says(error: str, outcome: CallOutcome) -> None:
    assert outcome_of(error) is outcome


def test_only_silence_is_a_reason_to_wait() -> None:
    assert [outcome for outcome in CallOutcome if outcome.is_unanswered] == [CallOutcome.TIMED_OUT, CallOutcome.REFUSED]


def test_what_a_call_is_about() -> None:
    broker = Callee("a", "10.0.0.1:10911")
    assert Call(Request.GROUPS, broker).subject == "*"
    assert Call(Request.STATS, broker, group="g", topic="t").subject == "g t"
    assert Call(Request.RUNNING, broker, group="g", client="c@1").subject == "g c@1"
