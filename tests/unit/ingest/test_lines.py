"""Rows of the source tables as lines of a recording: reading a line gives the row again."""

import json
from pathlib import Path

import pytest

from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.lines import line as line_of
from spark_jobs.ingest.recording import Row, outcomes
from tests.support.bodies import AT, LINES, failed, line, outcome, row

ROOT = Path(__file__).parents[3]
RECORDINGS = [ROOT / "examples" / "recording.jsonl.gz", *sorted((ROOT / "tests" / "data").glob("*.jsonl.gz"))]
CONNECTION = (
    '{"connectionSet":[{"clientAddr":"10.0.0.2:2002","clientId":"172.17.0.1@1","language":"JAVA","version":493}],'
    '"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",'
    '"subscriptionTable":{"orders":{"expressionType":"TAG","subString":"A","subVersion":5,"topic":"orders"}}}'
)
MODES = '{"messageRequestModeMap":{"orders":{"pay":{"mode":"POP","popShareQueueNum":3}},"ticks":{"other":{}}}}'
STATIC = '{"queueDatas":[],"topicQueueMappingByBroker":{"broker-a":{}}}'
NAME_SERVERS = (
    '{"10.0.0.1:9876":{"queueDatas":[{"brokerName":"b","perm":6,"readQueueNums":8,"writeQueueNums":8}]},'
    '"10.0.0.2:9876":{}}'
)


@pytest.mark.parametrize(
    "content",
    [
        *map(line, LINES),
        line("connection", request_modes=MODES),
        line("connection", request_modes='{"messageRequestModeMap":{}}'),
        line("connection", body='{"connectionSet":[],"subscriptionTable":{}}'),
        failed("connection", "code 206 not online"),
        line("connection", body=None, error="NOT LISTED: deleted", request_modes=MODES),
        line("route", attributes='{"message.type":"LITE"}', name_servers=NAME_SERVERS),
        line("route", attributes="{}", listed="true", body='{"brokerDatas":[]}'),
        line("route", body=STATIC),
        line("route", body=None, error="code 17", listed="false", name_servers="{}"),
        line("stats", body='{"offsetTable":{}}'),
        line("committed", body="[]"),
        line("running", body="{}"),
        line("running", body='{"lockRefused":[{"topic":"t","brokerName":"b","queueId":1}],"mqTable":{}}'),
        line("running", body='{"properties":{"PROP_THREADPOOL_CORE_SIZE":"-1"},"subscriptionSet":[],"statusTable":{}}'),
        failed("running", "RemotingTimeoutException"),
        failed("running", "The Consumer Group <pay> not exist in this consumer"),
        line("call", body='{"fate":"ANSWERED","tookMs":4}'),
    ],
)
def test_a_line_is_read_as_its_row(content: bytes) -> None:
    result = outcome(content)
    assert isinstance(result, Row)
    assert row(line_of(result.table, result.values).encode()) == result.values


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_every_line_of_a_recording_is_read_as_its_row(recording: Path) -> None:
    cluster, different = "", []
    for each in outcomes(read_lines(recording)):
        if isinstance(each, Row):
            cluster = str(each.values["cluster"])
            again = outcome(line_of(each.table, each.values).encode(), cluster)
            different += [] if isinstance(again, Row) and again.values == each.values else [each.line.number]
    assert cluster
    assert different == []


def test_names_are_rocketmq_s() -> None:
    (result,) = [outcome(line("connection", body=CONNECTION, request_modes=MODES))]
    assert isinstance(result, Row)
    fields = json.loads(line_of(result.table, result.values))
    assert (fields["kind"], fields["at"], fields["group"], fields["broker"]) == ("connection", AT, "pay", "broker-a")
    assert json.loads(fields["body"]) == json.loads(CONNECTION)
    assert json.loads(fields["request_modes"]) == {
        "messageRequestModeMap": {"orders": {"pay": {"mode": "POP", "popShareQueueNum": 3}}}
    }
