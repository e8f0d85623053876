"""When the connection to a server is closed: if nothing is answered on it any more, not if one answer is late."""

from unittest.mock import MagicMock

import pytest

from spark_jobs.capture.calls import NAME_SERVER, Call, Callee, Request
from spark_jobs.capture.java_calls import JavaCalls

A = Callee("a", "10.0.0.1:10911")
STATS = Call(Request.STATS, A, group="g")
ROUTE = Call(Request.ROUTE, Callee(NAME_SERVER), topic="t")


def calls_and_closed() -> tuple[JavaCalls, list[list[str]]]:
    """The calls of an admin client that answers everything, and the addresses whose connections were closed."""
    closed: list[list[str]] = []
    jvm, admin = MagicMock(), MagicMock()
    jvm.java.util.List.of = lambda *addresses: addresses
    instance = jvm.org.apache.rocketmq.client.impl.MQClientManager.getInstance().getOrCreateMQClientInstance()
    instance.getMQClientAPIImpl().getRemotingClient().closeChannels = lambda addresses: closed.append([*addresses])
    admin.examineConsumeStats().toJson.return_value = "{}"
    admin.getNameServerAddressList.return_value = ["10.0.0.9:9876", "10.0.0.8:9876"]
    return JavaCalls(jvm, admin), closed


def test_three_time_outs_without_an_answer_close_the_connection() -> None:
    calls, closed = calls_and_closed()
    for _ in range(2):
        calls.timed_out(STATS)
        calls.timed_out(STATS)
        assert calls.ask(STATS) == "{}"
    assert closed == []
    for _ in range(6):
        calls.timed_out(STATS)
    assert closed == [["10.0.0.1:10911"]] * 2


@pytest.mark.parametrize("request_", [Request.RUNNING, Request.STACKS])
def test_a_client_that_does_not_answer_is_no_reason(request_: Request) -> None:
    calls, closed = calls_and_closed()
    for _ in range(9):
        calls.timed_out(Call(request_, A, group="g", client="c"))
    assert closed == []


def test_all_name_servers_are_left_for_another_try() -> None:
    calls, closed = calls_and_closed()
    for _ in range(3):
        calls.timed_out(ROUTE)
    assert closed == [["10.0.0.9:9876", "10.0.0.8:9876"]]
