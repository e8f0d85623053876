"""What the text of an exception says of a call."""

from __future__ import annotations

import pytest

from spark_jobs.capture.calls import Call, Called, Fate, Request, fate_of
from tests.capture import fakes

GATEWAY = "MQClientException Send request to < 10.0.0.1:9876 > failed"


@pytest.mark.parametrize(
    ("error", "fate"),
    [
        (fakes.NOT_ONLINE, Fate.NOT_ONLINE),
        ("code 206 the consumer group[g] not online", Fate.NOT_ONLINE),
        (fakes.NOT_IN_GROUP, Fate.NOT_IN_GROUP),
        ("MQClientException CODE: 1  DESC: The Consumer Group not exist in this consumer", Fate.NOT_IN_GROUP),
        (fakes.TIMED_OUT, Fate.TIMED_OUT),
        ("RemotingTooMuchRequestException sendDefaultImpl call timeout", Fate.REFUSED),
        (fakes.REFUSED, Fate.REFUSED),
        ("RemotingSendRequestException send request to </10.0.0.1:10911> failed", Fate.REFUSED),
        ("MQClientException connect to null failed", Fate.REFUSED),
        (fakes.NO_ROUTE, Fate.FAILED),
        ("MQClientException CODE: 1  DESC: The Consumer <g> <c> not online", Fate.FAILED),
        ("MQBrokerException CODE: 2067  DESC: another code", Fate.FAILED),
    ],
)
def test_what_an_error_says(error: str, fate: Fate) -> None:
    assert fate_of(error) is fate


def test_only_silence_is_a_reason_to_wait() -> None:
    assert [fate for fate in Fate if fate.is_silence] == [Fate.TIMED_OUT, Fate.REFUSED]


def test_what_a_call_is_about() -> None:
    broker = Called("a", "10.0.0.1:10911")
    assert Call(Request.GROUPS, broker).subject == "*"
    assert Call(Request.STATS, broker, group="g", topic="t").subject == "g t"
    assert Call(Request.RUNNING, broker, group="g", client="c@1").subject == "g c@1"
