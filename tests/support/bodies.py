"""Bodies as RocketMQ writes them, by hand; every test that needs a changed one starts from these."""

import json

from spark_jobs.ingest.files import Line
from spark_jobs.ingest.recording import Outcome, Quarantined, Row, outcomes

AT = 1795226547799  # 2026-11-21T02:02:27.799Z

CONNECTIONS = (
    '{"connectionSet":['
    '{"clientAddr":"10.0.0.2:2002","clientId":"172.17.0.1@1","language":"JAVA","version":493},'
    '{"clientAddr":"10.0.0.9:1","clientId":"10.0.0.9@7","language":"GO"},'
    '{"clientAddr":"10.0.0.2:2001","clientId":"172.17.0.1@1","language":"JAVA","version":493}],'
    '"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET","consumeType":"CONSUME_PASSIVELY","messageModel":"CLUSTERING",'
    '"subscriptionTable":{"orders":{"classFilterMode":false,"codeSet":[],"expressionType":"TAG","subString":"A || B",'
    '"subVersion":1758268800123,"tagsSet":["A","B"],"topic":"orders"},'
    '"%RETRY%pay":{"expressionType":"TAG","subString":"*","subVersion":1,"topic":"%RETRY%pay"}}}'
)
ROUTE = (
    '{"brokerDatas":[{"brokerAddrs":{0:"127.0.0.1:10911",1:"127.0.0.1:10912"},"brokerName":"broker-b",'
    '"cluster":"DefaultCluster"}],"filterServerTable":{},"queueDatas":['
    '{"brokerName":"broker-b","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":10},'
    '{"brokerName":"broker-a","perm":4,"readQueueNums":1,"writeQueueNums":1}]}'
)
STATS = (
    '{"consumeTps":1.5,"offsetTable":{'
    '{"brokerName":"broker-b","queueId":1,"topic":"orders"}:'
    '{"brokerOffset":9223372036854775807,"consumerOffset":9007199254740993,"lastTimestamp":0,"pullOffset":-1},'
    '{"brokerName":"broker-a","queueId":10,"topic":"orders"}:{"brokerOffset":3,"consumerOffset":1,"lastTimestamp":7},'
    '{"brokerName":"broker-a","queueId":9,"topic":"orders"}:'
    '{"brokerOffset":2,"consumerOffset":2,"lastTimestamp":1795226547638,"pullOffset":2}}}'
)
COMMITTED = '[["b",1,7],["b",0,3]]'
TOPIC_STATS = '[["broker-b",0,5,9007199254740993],["broker-a",1,0,0],["broker-a",0,0,12]]'
RUNNING = (
    '{"mqPopTable":{},"mqTable":{'
    '{"brokerName":"broker-a","queueId":1,"topic":"orders"}:{"cachedMsgCount":3,"cachedMsgMaxOffset":12,'
    '"cachedMsgMinOffset":10,"cachedMsgSizeInMiB":1,"commitOffset":10,"droped":false,'
    '"lastConsumeTimestamp":1795226547647,"lastLockTimestamp":1,"lastPullTimestamp":1795226547848,"locked":true},'
    '{"brokerName":"broker-a","queueId":0,"topic":"orders"}:{"droped":true}},'
    '"properties":{"allocateMessageQueueStrategy":'
    '"org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely@21f80fa0",'
    '"PROP_CONSUMEORDERLY":"false","messageModel":"CLUSTERING","clientRebalance":"true",'
    '"PROP_CONSUMER_START_TIMESTAMP":"1795226515156","PROP_THREADPOOL_CORE_SIZE":"20",'
    '"consumeMessageBatchMaxSize":"16","pullBatchSize":"32","pullInterval":"250","pullThresholdForQueue":"1000",'
    '"pullThresholdSizeForQueue":"100","consumeConcurrentlyMaxSpan":"2000","consumeTimeout":"15"},'
    '"statusTable":{"orders":{"consumeFailedMsgs":0,"consumeFailedTPS":0.0,"consumeOKTPS":16.25,"consumeRT":4,'
    '"pullRT":195.5,"pullTPS":16.5}},'
    '"subscriptionSet":[{"expressionType":"TAG","subString":"*","subVersion":5,"tagsSet":[],"topic":"orders"}],'
    '"userConsumerInfo":{}}'
)
STACKS = (
    '{"threads":5,"stacks":[{"state":"WAITING","threads":3,"frames":['
    '"java.base@17.0.15/java.lang.Object.wait(Native Method)","app//com.acme.Dao.query(Dao.java:12)"]},'
    '{"state":"RUNNABLE","threads":1,"frames":[]}]}'
)
CALL = '{"fate":"TIMED_OUT","tookMs":3004,"error":"RemotingTimeoutException wait response on the channel"}'

LINES = {
    "connection": {"kind": "connection", "at": AT, "group": "pay", "broker": "broker-a", "body": CONNECTIONS},
    "route": {"kind": "route", "at": AT, "topic": "orders", "body": ROUTE},
    "stats": {"kind": "stats", "at": AT, "group": "pay", "topic": "orders", "body": STATS},
    "committed": {"kind": "committed", "at": AT + 60_000, "group": "pay", "topic": "orders", "body": COMMITTED},
    "topicstats": {"kind": "topicstats", "at": AT, "topic": "orders", "body": TOPIC_STATS},
    "running": {"kind": "running", "at": AT, "group": "pay", "client": "172.17.0.1@1", "body": RUNNING},
    "stacks": {"kind": "stacks", "at": AT, "group": "pay", "client": "172.17.0.1@1", "body": STACKS},
    "call": {"kind": "call", "at": AT, "called": "broker-a", "request": "stats", "subject": "pay orders", "body": CALL},
}


def line(kind: str, **changes: object) -> bytes:
    """The line of that kind with fields changed, or taken out where the change is None."""
    fields = LINES[kind] | changes
    return json.dumps({name: value for name, value in fields.items() if value is not None}).encode() + b"\n"


def failed(kind: str, error: str) -> bytes:
    """The line of that kind with an error answer."""
    return line(kind, body=None, error=error)


def outcome(content: bytes, cluster: str | None = "demo") -> Outcome:
    """What becomes of one line."""
    (result,) = outcomes([Line(1, content)], cluster)
    return result


def row(content: bytes) -> dict[str, object]:
    """The row that the line gives."""
    result = outcome(content)
    assert isinstance(result, Row), result
    assert tuple(result.values) == result.table.columns
    return result.values


def rejection(content: bytes, cluster: str | None = "demo") -> tuple[str, str]:
    """(reason, detail) of a line that is quarantined."""
    result = outcome(content, cluster)
    assert isinstance(result, Quarantined), result
    return result.reason.value, result.detail
