import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.bodies import COMMITTED, CONNECTIONS, ROUTE, RUNNING, STATS, TOPIC_STATS, line, rejection, row

Numbers = tuple[int, int, int]

CAPTURED_AT = datetime(2026, 11, 21, 2, 2, 27, 799000, UTC)


def test_connections_are_sorted_and_twins_kept() -> None:
    assert row(line("connection")) == {
        "cluster": "demo",
        "consumer_group": "pay",
        "broker_name": "broker-a",
        "captured_at": CAPTURED_AT,
        "message_model": "CLUSTERING",
        "consume_type": "CONSUME_PASSIVELY",
        "consume_from_where": "CONSUME_FROM_LAST_OFFSET",
        "connections": [
            {"client_id": "10.0.0.9@7", "client_addr": "10.0.0.9:1", "language": "GO", "version": None},
            {"client_id": "172.17.0.1@1", "client_addr": "10.0.0.2:2001", "language": "JAVA", "version": 493},
            {"client_id": "172.17.0.1@1", "client_addr": "10.0.0.2:2002", "language": "JAVA", "version": 493},
        ],
        "subscriptions": [
            {"topic": "%RETRY%pay", "expression_type": "TAG", "sub_string": "*", "sub_version": 1},
            {"topic": "orders", "expression_type": "TAG", "sub_string": "A || B", "sub_version": 1758268800123},
        ],
        "listed": None,
        "request_modes": None,
    }


def test_of_the_request_modes_of_a_broker_a_group_has_its_own() -> None:
    modes = (
        '{"messageRequestModeMap":{'
        '"refunds":{"pay":{"consumerGroup":"pay","mode":"PULL","popShareQueueNum":0,"topic":"refunds"}},'
        '"orders":{"else":{"consumerGroup":"else","mode":"POP","popShareQueueNum":9,"topic":"orders"},'
        '"pay":{"consumerGroup":"pay","mode":"POP","popShareQueueNum":2,"topic":"orders"}}}}'
    )
    assert row(line("connection", request_modes=modes))["request_modes"] == [
        {"topic": "orders", "mode": "POP", "pop_share_queue_num": 2},
        {"topic": "refunds", "mode": "PULL", "pop_share_queue_num": 0},
    ]
    assert row(line("connection", request_modes='{"messageRequestModeMap":{}}'))["request_modes"] == []


@pytest.mark.parametrize(
    ("modes", "detail"),
    [
        ("{}", "request_modes.messageRequestModeMap is missing"),
        ('{"messageRequestModeMap":{"t":{"pay":{}}}}', "request_modes.messageRequestModeMap.t.pay.mode is missing"),
        ('{"messageRequestModeMap":{"t":{"pay":{"mode":"PUSH"}}}}',
         "request_modes.messageRequestModeMap.t.pay.mode is 'PUSH', not one of PULL, POP"),
        ('{"messageRequestModeMap":{"t":{"pay":{"mode":"POP"}}}}',
         "request_modes.messageRequestModeMap.t.pay.popShareQueueNum is missing"),
    ],
)  # fmt: skip
def test_request_modes_that_cannot_be_read_are_named(modes: str, detail: str) -> None:
    assert rejection(line("connection", request_modes=modes))[1] == detail


NO_ROUTE = {"body": None, "error": "MQClientException CODE: 17  DESC: No topic route info"}
ENTRY = '{"brokerName":"a","perm":6,"readQueueNums":4,"writeQueueNums":4}'
OF_SERVERS = f'{{"n2:1":{{"queueDatas":[]}},"n1:1":{{"queueDatas":[{ENTRY}]}}}}'
MAPPING = '{"broker-a":{"bname":"broker-a","currIdMap":{0:0},"epoch":1,"topic":"orders","totalQueues":2}}'
ADDRESSES = [
    {"broker_name": "broker-b", "broker_id": 0, "address": "127.0.0.1:10911"},
    {"broker_name": "broker-b", "broker_id": 1, "address": "127.0.0.1:10912"},
]
TURNED = ROUTE.replace('{0:"127.0.0.1:10911",1:"127.0.0.1:10912"}', '{1:"127.0.0.1:10912",0:"127.0.0.1:10911"}')
assert TURNED != ROUTE


@pytest.mark.parametrize(
    ("changes", "column", "value"),
    [
        ({}, "queues", [
            {"broker_name": "broker-a", "perm": 4, "read_queue_nums": 1, "write_queue_nums": 1},
            {"broker_name": "broker-b", "perm": 6, "read_queue_nums": 8, "write_queue_nums": 10},
        ]),
        ({"body": '{"brokerDatas":[]}'}, "queues", []),
        ({"body": '{"queueDatas":null}'}, "queues", []),
        ({}, "message_type", None),
        ({"attributes": '{"message.type":"PRIORITY"}'}, "message_type", "PRIORITY"),
        ({"attributes": '{"queue.type":"SimpleCQ"}'}, "message_type", "NORMAL"),
        ({}, "listed", None),
        (NO_ROUTE, "listed", None),
        (NO_ROUTE | {"listed": "false"}, "listed", False),
        ({}, "name_servers", None),
        ({"name_servers": OF_SERVERS}, "name_servers", [
            {"address": "n1:1", "broker_name": "a", "perm": 6, "read_queue_nums": 4, "write_queue_nums": 4},
            {"address": "n2:1", **dict.fromkeys(("broker_name", "perm", "read_queue_nums", "write_queue_nums"))},
        ]),
        ({}, "is_static", False),
        ({"body": '{"topicQueueMappingByBroker":{}}'}, "is_static", False),
        ({"body": f'{{"topicQueueMappingByBroker":{MAPPING}}}'}, "is_static", True),
        ({}, "addresses", ADDRESSES),
        ({"body": TURNED}, "addresses", ADDRESSES),
        ({"body": ROUTE.replace("{0:", '{"0":').replace(",1:", ',"1":')}, "addresses", ADDRESSES),
        ({"body": '{"brokerDatas":[{"brokerName":"b"}]}'}, "addresses", []),
        ({"body": '{"queueDatas":null}'}, "addresses", None),
    ],
)  # fmt: skip
def test_a_route(changes: dict[str, object], column: str, value: object) -> None:
    assert row(line("route", **changes))[column] == value


def test_offsets_are_exact_and_sorted_by_number() -> None:
    names = ("broker_name", "queue_id", "broker_offset", "consumer_offset", "pull_offset", "last_timestamp")
    assert row(line("stats"))["offsets"] == [
        dict(zip(names, values, strict=True))
        for values in (
            ("broker-a", 9, 2, 2, 2, 1795226547638),
            ("broker-a", 10, 3, 1, None, 7),
            ("broker-b", 1, 9223372036854775807, 9007199254740993, -1, 0),
        )
    ]
    assert row(line("stats", body='{"offsetTable":{}}'))["offsets"] == []


def test_of_equal_queues_the_last_counts() -> None:
    key = '{"brokerName":"a","queueId":0,"topic":"orders"}'
    once, again = '{"brokerOffset":1,"consumerOffset":1}', '{"brokerOffset":2,"consumerOffset":2}'
    offsets = row(line("stats", body=f'{{"offsetTable":{{{key}:{once},{key}:{again}}}}}'))["offsets"]
    assert isinstance(offsets, list)
    assert [queue["broker_offset"] for queue in offsets] == [2]


def test_topic_stats_are_rows_of_four() -> None:
    assert row(line("topicstats"))["queues"] == [
        {"broker_name": "broker-a", "queue_id": 0, "min_offset": 0, "max_offset": 12},
        {"broker_name": "broker-a", "queue_id": 1, "min_offset": 0, "max_offset": 0},
        {"broker_name": "broker-b", "queue_id": 0, "min_offset": 5, "max_offset": 9007199254740993},
    ]


def test_running_info() -> None:
    cache = ("cached_count", "cached_mib", "cached_min_offset", "cached_max_offset")
    unknown = (*cache, "commit_offset", "last_pull", "last_consume", "last_lock")
    assert row(line("running")) == (
        {"cluster": "demo", "consumer_group": "pay", "client_id": "172.17.0.1@1", "captured_at": CAPTURED_AT}
        | {"answered": True, "in_group": True}
        | {"strategy_class": "org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely"}
        | {"message_model": "CLUSTERING", "consume_orderly": False, "client_rebalance": True}
        | {"started_at": datetime(2026, 11, 21, 2, 1, 55, 156000, UTC), "consume_threads": 20}
        | {"consume_batch_size": 16, "pull_batch_size": 32, "pull_interval_ms": 250}
        | {"pull_threshold_for_queue": 1000, "pull_threshold_size_for_queue": 100, "consume_max_span": 2000}
        | {"consume_timeout_minutes": 15}
        | {"subscriptions": [{"topic": "orders", "expression_type": "TAG", "sub_string": "*", "sub_version": 5}]}
        | {
            "owned_queues": [
                {"topic": "orders", "broker_name": "broker-a", "queue_id": 0, "locked": None, "dropped": True}
                | dict.fromkeys(unknown),
                (
                    {"topic": "orders", "broker_name": "broker-a", "queue_id": 1, "locked": True, "dropped": False}
                    | {"cached_count": 3, "cached_mib": 1, "cached_min_offset": 10, "cached_max_offset": 12}
                    | {"commit_offset": 10, "last_pull": 1795226547848, "last_consume": 1795226547647, "last_lock": 1}
                ),
            ],
        }
        | {"lock_refused": None}
        | {
            "consume_status": [
                (
                    {"topic": "orders", "consume_rt_ms": 4.0, "consume_ok_tps": 16.25, "consume_failed_tps": 0.0}
                    | {"pull_rt_ms": 195.5, "pull_tps": 16.5}
                )
            ],
        }
    )


@pytest.mark.parametrize(
    ("cached", "taken", "in_hand"),
    [
        ((3, 10, 12), (2, 8, 9), (5, 8, 12)),
        ((0, 0, 0), (1, 0, 0), (1, 0, 0)),
        ((0, 0, 0), (2, 8, 9), (2, 8, 9)),
        ((3, 10, 12), (0, 0, 0), (3, 10, 12)),
        ((0, 0, 0), (0, 0, 0), (0, 0, 0)),
    ],
)
def test_messages_in_an_orderly_listener_are_in_hand(cached: Numbers, taken: Numbers, in_hand: Numbers) -> None:
    """A client writes 0 for the offsets of nothing (`ProcessQueue.fillProcessQueueInfo`)."""
    numbers = (
        f'"{name}MsgCount":{count},"{name}MsgMinOffset":{first},"{name}MsgMaxOffset":{last}'
        for name, (count, first, last) in (("cached", cached), ("transaction", taken))
    )
    queue = f'{{"brokerName":"b","queueId":1,"topic":"t"}}:{{{",".join(numbers)}}}'
    queues: Any = row(line("running", body=f'{{"mqTable":{{{queue}}}}}'))["owned_queues"]
    assert tuple(queues[0][f"cached_{name}"] for name in ("count", "min_offset", "max_offset")) == in_hand


def test_what_a_client_does_not_say_is_null_not_empty() -> None:
    values = row(line("running", body="{}"))
    assert (values.pop("answered"), values.pop("in_group")) == (True, True)
    expected = ["cluster", "consumer_group", "client_id", "captured_at"]
    assert [name for name, value in values.items() if value is not None] == expected
    nothing_owned = row(line("running", body='{"mqTable":{},"subscriptionSet":[],"statusTable":{}}'))
    assert [nothing_owned[name] for name in ("owned_queues", "subscriptions", "consume_status")] == [[], [], []]


def test_a_go_client_has_no_pool_of_threads() -> None:
    values = row(line("running", body=RUNNING.replace('"20"', '"-1"')))
    assert values == row(line("running")) | {"consume_threads": None}


def test_a_cpp_client_writes_offsets_and_times_as_texts() -> None:
    """Source: rocketmq-client-cpp, `ProcessQueueInfo::toJson`."""
    numbers = re.compile(r'("(?:cachedMsgM\w+Offset|commitOffset|last\w+Timestamp)":)(\d+)')
    body, changed = numbers.subn(r'\1"\2"', RUNNING)
    assert changed > 0
    assert row(line("running", body=body)) == row(line("running"))


def test_the_order_of_the_text_does_not_matter() -> None:
    shuffled = json.loads(CONNECTIONS)
    shuffled["connectionSet"].reverse()
    shuffled["subscriptionTable"] = dict(reversed(shuffled["subscriptionTable"].items()))
    assert row(line("connection", body=json.dumps(shuffled))) == row(line("connection"))


def test_a_second_mention_by_reference_is_the_same_subscription() -> None:
    body = RUNNING.replace('"topic":"orders"}],"userC', '"topic":"orders"},{"$ref":"$.subscriptionSet[0]"}],"userC')
    subscription = {"topic": "orders", "expression_type": "TAG", "sub_string": "*", "sub_version": 5}
    assert row(line("running", body=body))["subscriptions"] == [subscription, subscription]


def test_committed_offsets_are_all_that_logs_know_of_a_queue() -> None:
    unknown = {"broker_offset": None, "pull_offset": None, "last_timestamp": None}
    assert row(line("committed"))["offsets"] == [
        {"broker_name": "b", "queue_id": queue_id, "consumer_offset": offset} | unknown
        for queue_id, offset in ((0, 3), (1, 7))
    ]


BODIES = {"connection": CONNECTIONS, "route": ROUTE, "stats": STATS, "committed": COMMITTED}
BODIES |= {"topicstats": TOPIC_STATS, "running": RUNNING}


@pytest.mark.parametrize(
    ("kind", "old", "new", "reason", "detail"),
    [
        ("connection", '"connectionSet"', '"x"', "MISSING_FIELD", "body.connectionSet is missing"),
        ("connection", '"subscriptionTable"', '"x"', "MISSING_FIELD", "body.subscriptionTable is missing"),
        ("connection", '"messageModel"', '"x"', "MISSING_FIELD", "body.messageModel is missing"),
        ("connection", '"CLUSTERING"', '"OTHER"', "OUT_OF_RANGE", "body.messageModel is 'OTHER'"),
        ("connection", '"clientId":"10.0.0.9@7",', "", "MISSING_FIELD", "body.connectionSet[1].clientId is missing"),
        ("connection", '"10.0.0.9@7"', "7", "WRONG_TYPE", "body.connectionSet[1].clientId is an integer, not text"),
        ("connection", "493", '"493"', "WRONG_TYPE", "body.connectionSet[0].version is text, not an integer"),
        ("connection", "493", "2147483648", "OUT_OF_RANGE", "body.connectionSet[0].version is 2147483648"),
        ("connection", "493", "true", "WRONG_TYPE", "body.connectionSet[0].version is a boolean, not an integer"),
        ("connection", "493", "493.0", "WRONG_TYPE", "body.connectionSet[0].version is a number, not an integer"),
        ("connection", '"10.0.0.9:1"', '"\\ud800"', "LONE_SURROGATE", "body.connectionSet[1].clientAddr"),
        ("connection", '"orders":{', '"\\udfff":{', "LONE_SURROGATE", "a key of body.subscriptionTable"),
        ("connection", '"orders":{', '0:{},"orders":{', "WRONG_TYPE", "a key of body.subscriptionTable is an integer"),
        ("connection", '"orders":{', '"x":[],"orders":{', "WRONG_TYPE", "body.subscriptionTable.x is an array"),
        ("route", "[", "{", "BODY_UNREADABLE", "at character"),
        ("route", '"queueDatas":[', '"queueDatas":[7,', "WRONG_TYPE",
         "body.queueDatas[0] is an integer, not an object"),
        ("route", '"perm":6,', "", "MISSING_FIELD", "body.queueDatas[0].perm is missing"),
        ("route", '"perm":6', '"perm":null', "MISSING_FIELD", "body.queueDatas[0].perm is missing"),
        ("route", '"readQueueNums":8', '"readQueueNums":-8', "OUT_OF_RANGE", "readQueueNums is -8"),
        ("route", '"brokerName":"broker-a"', '"brokerName":"broker-b"', "CONTRADICTION", "'broker-b' twice"),
        ("route", "[{", '[{"brokerName":"broker-b","brokerAddrs":{1:"x"}},{', "CONTRADICTION", "'broker-b' 1 twice"),
        ("route", "{0:", "{-1:", "OUT_OF_RANGE", "a key of body.brokerDatas[0].brokerAddrs is -1"),
        ("route", "{0:", '{"²":', "WRONG_TYPE", "a key of body.brokerDatas[0].brokerAddrs is text, not an integer"),
        ("route", "{0:", '{"1":', "CONTRADICTION", "'broker-b' 1 twice"),
        ("route", "{0:", '{"-1":', "WRONG_TYPE", "a key of body.brokerDatas[0].brokerAddrs is text, not an integer"),
        ("route", "{0:", '{"9223372036854775808":', "OUT_OF_RANGE", "brokerAddrs is 9223372036854775808"),
        ("route", '"127.0.0.1:10912"', "7", "WRONG_TYPE", "body.brokerDatas[0].brokerAddrs.1 is an integer, not text"),
        ("stats", '"offsetTable"', '"x"', "MISSING_FIELD", "body.offsetTable is missing"),
        ("stats", '"topic":"orders"', '"topic":"other"', "CONTRADICTION", "body.offsetTable.key[0].topic"),
        ("stats", '"queueId":10', '"queueId":-1', "OUT_OF_RANGE", "body.offsetTable.key[1].queueId is -1"),
        ("stats", '"brokerOffset":3,', "", "MISSING_FIELD", "body.offsetTable.value[1].brokerOffset is missing"),
        ("stats", "9223372036854775807", "9223372036854775808", "BODY_UNREADABLE", "integer beyond 64 bits"),
        ("stats", '"pullOffset":-1', '"pullOffset":""', "WRONG_TYPE", "body.offsetTable.value[0].pullOffset is text"),
        ("committed", ",7", "", "MISSING_FIELD", "body[0] has 2 elements, not 3"),
        ("committed", "1,7", "0,7", "CONTRADICTION", "'b' 0 twice"),
        ("topicstats", "5,", "", "MISSING_FIELD", "body[0] has 3 elements, not 4"),
        ("topicstats", '"broker-b"', "null", "WRONG_TYPE", "body[0][0] is null, not text"),
        ("topicstats", '"broker-b"', '"\\ud800"', "LONE_SURROGATE", "body[0][0]"),
        ("topicstats", "5,", "5.0,", "WRONG_TYPE", "body[0][2] is a number, not an integer"),
        ("topicstats", '"broker-a",1', '"broker-a",0', "CONTRADICTION", "'broker-a' 0 twice"),
        ("running", '"mqTable":{', '"mqTable":{"x":1},"y":{', "WRONG_TYPE",
         "body.mqTable is an object, not a map with"),
        ("running", '"queueId":1', '"queueId":1.5', "WRONG_TYPE", "body.mqTable.key[0].queueId is a number"),
        ("running", '"droped":true', '"droped":"true"', "WRONG_TYPE", "body.mqTable.value[1].droped is text"),
        ("running", '"pullTPS":16.5', '"pullTPS":"16.5"', "WRONG_TYPE", "body.statusTable.orders.pullTPS is text"),
        ("running", '"false"', '"no"', "WRONG_TYPE", "body.properties.PROP_CONSUMEORDERLY is 'no'"),
        ("running", '"20"', '"2O"', "WRONG_TYPE", "body.properties.PROP_THREADPOOL_CORE_SIZE is '2O', not an integer"),
        ("running", '"20"', '"²"', "WRONG_TYPE", "body.properties.PROP_THREADPOOL_CORE_SIZE"),
        ("running", '"20"', '"3000000000"', "OUT_OF_RANGE", "PROP_THREADPOOL_CORE_SIZE is 3000000000"),
        ("running", '"1795226515156"', '"1795226515"', "OUT_OF_RANGE", "PROP_CONSUMER_START_TIMESTAMP is 1795226515"),
        ("running", '"20"', "20", "WRONG_TYPE", "body.properties.PROP_THREADPOOL_CORE_SIZE is an integer, not text"),
        ("running", '"250"', '"0.25"', "WRONG_TYPE", "body.properties.pullInterval is '0.25', not an integer"),
        ("running", '"32"', "32", "WRONG_TYPE", "body.properties.pullBatchSize is an integer, not text"),
        ("running", '"1000"', '"2147483648"', "OUT_OF_RANGE", "body.properties.pullThresholdForQueue is 2147483648"),
        ("running", '"subVersion":5', '"subVersion":"5"', "WRONG_TYPE", "body.subscriptionSet[0].subVersion is text"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named(kind: str, old: str, new: str, reason: str, detail: str) -> None:
    assert old in BODIES[kind]
    rejected = rejection(line(kind, body=BODIES[kind].replace(old, new, 1)))
    assert rejected[0] == reason
    assert detail in rejected[1]


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "BODY_UNREADABLE"),
        ("null", "WRONG_TYPE"),
        ("7", "WRONG_TYPE"),
        ('"text"', "WRONG_TYPE"),
        ("{{}:1}", "WRONG_TYPE"),
        ("[" * 100_000, "BODY_UNREADABLE"),
    ],
)
def test_another_body_is_rejected(kind: str, body: str, reason: str) -> None:
    assert rejection(line(kind, body=body))[0] == reason


@pytest.mark.parametrize("kind", BODIES)
def test_every_truncated_body_is_rejected(kind: str) -> None:
    for length in range(len(BODIES[kind])):
        assert rejection(line(kind, body=BODIES[kind][:length]))[0] == "BODY_UNREADABLE"


def test_attributes_that_cannot_be_read_reject_the_line() -> None:
    assert rejection(line("route", attributes='{"message.type":1}'))[0] == "WRONG_TYPE"


def test_a_call_has_its_outcome() -> None:
    assert row(line("call")) == (
        {"cluster": "demo", "called": "broker-a", "request": "stats", "subject": "pay orders"}
        | {"captured_at": CAPTURED_AT, "outcome": "TIMED_OUT", "took_ms": 3004}
        | {"error": "RemotingTimeoutException wait response on the channel"}
    )
    not_made = row(line("call", body='{"fate":"NOT_ASKED"}'))
    assert (not_made["outcome"], not_made["took_ms"], not_made["error"]) == ("NOT_ASKED", None, None)
    assert rejection(line("call", body='{"tookMs":1}'))[0] == "MISSING_FIELD"
    assert rejection(line("call", body='{"fate":"ANSWERED","tookMs":-1}'))[0] == "OUT_OF_RANGE"
