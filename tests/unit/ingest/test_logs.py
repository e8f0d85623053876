"""Lines of logs, and folders of them, as they are found on hosts. Every line is of the version's source, with values of
our own.
"""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from pathlib import Path

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.errors import InputFileError, UsageError
from spark_jobs.ingest.files import read_lines
from spark_jobs.ingest.logs.entries import FileClock, LogFile, LogZone
from spark_jobs.ingest.logs.events import (
    Booted,
    Born,
    Committed,
    Connected,
    Disconnected,
    Empty,
    Event,
    Expired,
    LockAsked,
    LoggedConnection,
    QueueCounts,
    Rebalanced,
    Registered,
    Subscribed,
    Subscription,
    TopicChanged,
    TopicListed,
    Unsubscribed,
    WritePermission,
)
from spark_jobs.ingest.logs.lines import events
from spark_jobs.ingest.logs.recorded import write_recording
from spark_jobs.ingest.recording import Row, outcomes
from tests.support.logged import (
    BOOT,
    LIFE,
    MEMBERS_OF_LIFE,
    alive,
    closed,
    connected,
    entries,
    members,
    read,
    rows_of,
    time_of,
    times,
    utc,
    written,
)

CHANNEL = (
    "ClientChannelInfo [channel=[id: 0xaf460b12, L:/10.1.0.1:10911 {} R:/10.2.0.7:51576], clientId=10.2.0.7@9, "
    "language=GO, version=317, lastUpdateTimestamp=1700000000123]"
)
OPEN, CLOSED = CHANNEL.format("-"), CHANNEL.format("!")
GO = LoggedConnection("10.2.0.7:51576", "10.2.0.7@9", "GO", 317)
PYTHON = LoggedConnection("10.2.0.8:500", "py@7@0@x", "PYTHON", 493)
GRPC = (
    "ClientChannelInfo [channel=GrpcClientChannel{clientId=py@7@0@x, remoteAddress=10.2.0.8:500, "
    "localAddress=10.1.0.9:8081}, clientId=py@7@0@x, language=PYTHON, version=493, lastUpdateTimestamp=1700000000123]"
)
OLD_DATA = (
    "SubscriptionData [classFilterMode=false, topic=t, subString=A || B, tagsSet=[A, B], codeSet=[65], subVersion={}]"
)
DATA = OLD_DATA.removesuffix("]") + ", expressionType=TAG]"
CONFIG = (
    "TopicConfig [topicName=t, readQueueNums={}, writeQueueNums=8, perm=RW-, topicFilterType=SINGLE_TAG, "
    "topicSysFlag=0, order=false{}]"
)
OLD_QUEUE = "QueueData [brokerName=b, readQueueNums=4, writeQueueNums=8, perm=6, topicSynFlag=0]"
QUEUE = OLD_QUEUE.replace("topicSynFlag", "topicSysFlag")
QUEUES = "[MessageQueue [topic=t, brokerName=b, queueId=1], MessageQueue [topic=t, brokerName=b, queueId=0]]"
TAGS = Subscription("t", "TAG", "A || B", 7)

QUEUE_3 = "MessageQueue [topic=t, brokerName=b, queueId=3]"
BIRTH = DATA.format(7).replace("topic=t,", "topic=%RETRY%g,")
REGISTERED = (
    "ConsumerData [groupName=g, consumeType=CONSUME_PASSIVELY, messageModel=CLUSTERING, "
    f"consumeFromWhere=CONSUME_FROM_LAST_OFFSET, unitMode=false, subscriptionDataSet=[{DATA.format(7)}]]"
)
CONNECTED = Connected("g", "CONSUME_PASSIVELY", "CLUSTERING", GO, "10.1.0.1:10911")
COUNTS = QueueCounts(4, 8, 6)
HEARTBEAT = Registered("g", "CONSUME_FROM_LAST_OFFSET", "10.2.0.7:51576", (TAGS,))
COMMITTED = Committed("g", MessageQueue("t", "b", 3), 29)
GOT, REFUSED = (LockAsked("g", "c@1", MessageQueue("t", "b", 3), got) for got in (True, False))
EVERY, OLD, NEW = "4.3.0 4.7.1 4.9.8 5.1.4 5.3.3 5.4.0", "4.3.0 4.7.1 4.9.8", "5.1.4 5.3.3 5.4.0"

#: (versions whose source has it, the line after its time and thread, what it says): each kind of line.
LINES: Sequence[tuple[str, str, Sequence[Event]]] = (
    # ConsumerGroupInfo, ConsumerManager, ClientManageProcessor of brokers and proxies
    (EVERY, f"new consumer connected, group: g CONSUME_PASSIVELY CLUSTERING channel: {OPEN}", [CONNECTED]),
    (NEW, f"new consumer connected, group: g CONSUME_PASSIVELY CLUSTERING channel: {GRPC}",
     [CONNECTED._replace(connection=PYTHON, local="10.1.0.9:8081")]),
    (EVERY,
     f"NETTY EVENT: remove not active channel[{CLOSED}] from ConsumerGroupInfo groupChannelTable, consumer group: g",
     [Disconnected("g", GO)]),
    (EVERY, f"unregister a consumer[g] from consumerGroupInfo {OPEN.replace('10.2.0.7:51576', '[2001:db8::1]:51576')}",
     [Disconnected("g", GO._replace(address="[2001:db8::1]:51576"))]),
    (EVERY, "SCAN: remove expired channel from ConsumerManager consumerTable. channel=[2001:db8::1]:5, consumerGroup=g",
     [Expired("g", "[2001:db8::1]:5")]),
    (EVERY, f"unregister a consumer[g] from consumerGroupInfo {OPEN}", [Disconnected("g", GO)]),
    (EVERY, "SCAN: remove expired channel from ConsumerManager consumerTable. channel=10.2.0.7:51576, consumerGroup=g",
     [Expired("g", "10.2.0.7:51576")]),
    (EVERY, "SCAN: remove expired channel from ConsumerManager consumerTable, all clear, consumerGroup=g",
     [Empty("g")]),
    (EVERY, "unregister consumer ok, no any connection, and remove consumer group, g", [Empty("g")]),
    (EVERY, "getConsumerGroupInfo failed, g 10.2.0.7:51576", [Empty("g")]),
    (EVERY, "the consumer's group info not exist, group: g", [Empty("g")]),
    (EVERY, f"subscription changed, add new topic, group: g {DATA.format(7)}", [Subscribed("g", TAGS, True)]),
    (EVERY, f"subscription changed, group: g OLD: {DATA.format(6)} NEW: {DATA.format(7)}",
     [Subscribed("g", TAGS, False)]),
    (EVERY, f"subscription changed, add new topic, group: g {BIRTH}",
     [Born("g"), Subscribed("g", TAGS._replace(topic="%RETRY%g"), True)]),
    (EVERY, f"subscription changed, group: g remove topic t {DATA.format(7)}", [Unsubscribed("g", "t")]),
    (OLD, f"registerConsumer info changed {REGISTERED} 10.2.0.7:51576", [HEARTBEAT]),
    (NEW,
     "ClientManageProcessor: registerConsumer info changed, SDK address=10.2.0.7:51576, consumerData=" + REGISTERED,
     [HEARTBEAT]),
    (NEW, "heartBeatV2 ClientManageProcessor: registerConsumer info changed, SDK address=10.2.0.7:51576, "
     f"consumerData={REGISTERED}", [HEARTBEAT]),
    # TopicConfigManager, BrokerStartup
    (OLD, f"create new topic [{CONFIG.format(4, '')}]", [TopicChanged(None, "t", COUNTS, None)]),
    (NEW, f"create new topic [{CONFIG.format(4, ', attributes={}')}]", [TopicChanged(None, "t", COUNTS, None)]),
    (EVERY, f"create new topic {CONFIG.format(4, '')}", [TopicChanged(None, "t", COUNTS, None)]),
    (EVERY, f"Create new topic by default topic:[TBW102] config:[{CONFIG.format(4, '')}] producer:[10.2.0.7:1]",
     [TopicChanged(None, "t", COUNTS, None)]),
    (EVERY, "Create new topic failed, because the default topic[TBW102] not exist. producer:[10.2.0.7:1]", []),
    (EVERY, f"load exist local topic, {CONFIG.format(4, '')}", [TopicChanged(None, "t", COUNTS, COUNTS)]),
    (EVERY, f"update topic config, old:[{CONFIG.format(4, '')}] new:[{CONFIG.format(2, '')}]",
     [TopicChanged(None, "t", QueueCounts(2, 8, 6), COUNTS)]),
    (EVERY, f"delete topic config OK, topic: {CONFIG.format(4, '')}", [TopicChanged(None, "t", None, COUNTS)]),
    (EVERY, "The broker[b, 10.1.0.1:10911] boot success. serializeType=JSON and name server is 10.1.0.2:9876",
     [Booted("b", "10.1.0.1:10911")]),
    (EVERY, "register broker[0]to name server 10.1.0.2:9876 OK", []),
    # RebalanceLockManager
    (OLD, f"tryLockBatch, message queue not locked, I got it. Group: g NewClientId: c@1 {QUEUE_3}", [GOT]),
    (OLD, f"tryLockBatch, message queue lock expired, I got it. Group: g OldClientId: d NewClientId: c@1 {QUEUE_3}",
     [GOT]),
    (OLD, f"tryLock, message queue locked by other client. Group: g OtherClientId: d@1 NewClientId: c@1 {QUEUE_3}",
     [REFUSED]),
    (OLD, f"unlockBatch, but mq locked by other client: d@1, Group: g {QUEUE_3} c@1", []),
    (NEW, "RebalanceLockManager#tryLockBatch: lock a message which has not been locked yet, group=g, clientId=c@1, "
     f"mq={QUEUE_3}", [GOT]),
    (NEW, f"RebalanceLockManager#tryLockBatch: try to lock a expired message queue, group=g, mq={QUEUE_3}, "
     "old client id=d@1, new client id=c@1", [GOT]),
    (NEW, "RebalanceLockManager#tryLockBatch: message queue has been locked by other client, group=g, "
     f"mq={QUEUE_3}, locked client id=d@1, current client id=c@1", [REFUSED]),
    # RouteInfoManager, DefaultRequestProcessor of the name server
    ("4.3.0 4.7.1", f"new topic registered, t {OLD_QUEUE}", [TopicListed("b", "t", COUNTS)]),
    ("4.9.8 " + NEW, f"new topic registered, t {QUEUE}", [TopicListed("b", "t", COUNTS)]),
    (EVERY, f"topic changed, t OLD: {QUEUE.replace('=4', '=9')} NEW: {QUEUE}",
     [TopicChanged("b", "t", COUNTS, QueueCounts(9, 8, 6))]),
    (OLD, f"topicQueueTable Topic: t [{QUEUE}]", [TopicListed("b", "t", COUNTS)]),
    (NEW, f"topicQueueTable Topic: t {{b={QUEUE}}}", [TopicListed("b", "t", COUNTS)]),
    (OLD, f"remove topic[t {QUEUE}], from topicQueueTable, because channel destroyed",
     [TopicChanged("b", "t", None, COUNTS)]),
    (OLD, f"removeTopicByBrokerName, remove one broker's topic t {QUEUE}", [TopicChanged("b", "t", None, COUNTS)]),
    ("4.9.8 " + NEW, f"deleteTopic, remove one broker's topic b t {QUEUE}", [TopicChanged("b", "t", None, COUNTS)]),
    (EVERY, "wipe write perm of broker[b], client: 10.2.0.7:52860, 21", [WritePermission("b", False)]),
    ("4.9.8 " + NEW, "add write perm of broker[b], client: 10.2.0.7:52860, 21", [WritePermission("b", True)]),
    # MQClientInstance, RebalanceImpl, RemoteBrokerOffsetStore of clients
    (EVERY, f"the topic[t] route info changed, old[TopicRouteData [queueDatas=[{OLD_QUEUE.replace('=4', '=9')}]]] ,"
     f"new[TopicRouteData [orderTopicConf=null, queueDatas=[{OLD_QUEUE}], brokerDatas=[]]]",
     [TopicChanged("b", "t", COUNTS, QueueCounts(9, 8, 6))]),
    (OLD, f"rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g, topic=t, clientId=c@1, "
     f"mqAllSize=4, cidAllSize=2, rebalanceResultSize=2, rebalanceResultSet={QUEUES}",
     [Rebalanced("g", "t", "c@1", "AVG", (MessageQueue("t", "b", 0), MessageQueue("t", "b", 1)))]),
    (NEW, "client rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g, topic=t, clientId=c@1, "
     "mqAllSize=4, cidAllSize=2, rebalanceResultSize=0, rebalanceResultSet=[]",
     [Rebalanced("g", "t", "c@1", "AVG", ())]),
    (EVERY, f"[persist] Group: g ClientId: c@1 updateConsumeOffsetToBroker {QUEUE_3} 29", [COMMITTED]),
    (EVERY, f"[persistAll] Group: g ClientId: c@1 updateConsumeOffsetToBroker {QUEUE_3} 29", [COMMITTED]),
    (EVERY, "[GROUP_GET_NUMS] [t@g] Stats In One Minute, SUM: 60 TPS: 1.00 AVGPT: 1.00", []),
)  # fmt: skip
OF_VERSIONS = [(version, text, said) for versions, text, said in LINES for version in versions.split()]


@pytest.mark.parametrize(
    ("version", "text", "said"), OF_VERSIONS, ids=[f"{version} {text[:60]}" for version, text, _ in OF_VERSIONS]
)
def test_what_a_line_says(version: str, text: str, said: Sequence[Event]) -> None:
    """In the layout of servers, of clients of that version, and of an application."""
    of_client = {
        "4": "2026-11-26 06:20:33,250 INFO RocketmqClient - ",
        "5": "2026-11-26 06:20:33.250 INFO  [17359] [main] [o.a.r.c.impl.X#?:?] - ",
    }[version[0]]
    for layout in ("2026-11-26 06:20:33 INFO HeartbeatThread_2 - ", of_client, "[pay] 2026-11-26T06:20:33Z INFO  "):
        assert list(events(layout + text)) == said
    if not text.startswith("registerConsumer"):  # the line of 4.x ends with the address
        assert list(events(f'{{"@timestamp":"2026-11-26T06:20:33Z","message":"{text}","level":"INFO"}}')) == said


def test_a_slave_that_copies_the_topics_of_its_master_deletes_none() -> None:
    """The line of apache/rocketmq#9984; an operator's deletion is in a thread of the remoting server."""
    deletion = f"delete topic config OK, topic: {CONFIG.format(4, ', attributes={}')}"
    assert list(events(f"2026-01-08 10:09:25 INFO BrokerControllerScheduledThread1 - {deletion}")) == []
    assert list(events(f"2026-01-08 10:09:25 INFO AdminBrokerThread_1 - {deletion}")) == [
        TopicChanged(None, "t", None, COUNTS)
    ]


def test_an_expression_type_that_is_not_written_is_tags() -> None:
    """Versions before 4.3.0 do not write it."""
    text = f"2026-11-26 06:20:33 INFO main - subscription changed, add new topic, group: g {OLD_DATA.format(7)}"
    assert list(events(text)) == [Subscribed("g", TAGS, True)]


@pytest.mark.parametrize(
    ("line", "zone", "at"),
    [
        ("2026-11-26 06:20:33 INFO main - x", None, "2026-11-25T22:20:33"),  # servers: GMT+8
        ("2026-11-26 06:20:33 INFO - x", None, "2026-11-25T22:20:33"),
        ("2026-11-26 06:20:33.250 INFO  [1] [main] [o.a.r.X#?:?] - x", None, "2026-11-25T22:20:33.250"),  # 5.x clients
        ("2026-11-26 06:20:33,033 INFO RocketmqClient - x", "UTC", "2026-11-26T06:20:33"),  # 4.x: seconds, again
        ("2026-11-26 06:20:33,250 INFO RocketmqClient - x", "UTC", "2026-11-26T06:20:33.250"),
        ("2026-07-26 06:20:33,250 INFO RocketmqClient - x", "Europe/Berlin", "2026-07-26T04:20:33.250"),
        # kubectl logs
        ("2026-11-25T22:20:33.25071Z 2026-11-26 06:20:33 INFO main - x", None, "2026-11-25T22:20:33.250"),
        ("2026-11-26 06:20:33.250  INFO 1 --- [main] RocketmqClient : x", "UTC", "2026-11-26T06:20:33.250"),
        ('{"@timestamp":"2026-11-26T06:20:33.250+08:00","message":"x"}', None, "2026-11-25T22:20:33.250"),
        ("[pay] 2026-11-26T06:20:33.250+01:00 RocketmqClient x", None, "2026-11-26T05:20:33.250"),
    ],
)
def test_times_are_utc(line: str, zone: str | None, at: str, tmp_path: Path) -> None:
    assert _times(written(tmp_path, "a.log", [line]), zone) == [int(utc(at).timestamp() * 1000)]


def _times(path: Path, zone: str | None = None) -> list[int]:
    """When the entries of a file were written, milliseconds since 1970."""
    file, clock = list(LogFile(path)), FileClock(path, LogZone(zone))
    for entry in file:
        clock.learn(entry)
    return [clock.to_utc(entry.written, entry.is_gmt_8) for entry in file]


def test_the_time_of_a_connection_says_the_zone_of_its_file(tmp_path: Path) -> None:
    """1700000000123 is 2023-11-14T22:13:20Z: this host writes New York's time, in a layout of its own."""
    line = f"2023-11-14 17:13:20,200 [hb] new consumer connected, group: g PASSIVELY CLUSTERING channel: {OPEN}"
    assert _times(written(tmp_path, "broker.log", [line]), "UTC") == [1700000000200]


def test_a_zone_that_nobody_says_is_not_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "rocketmq_client.log", ["2026-11-26 06:20:33,250 INFO RocketmqClient - x"])
    with pytest.raises(InputFileError, match=r"rocketmq_client\.log does not say the time zone.*--log-zone"):
        _times(path)
    with pytest.raises(UsageError, match="--log-zone Mars/Base is no time zone"):
        LogZone("Mars/Base")


def test_what_is_no_entry_is_passed_over(tmp_path: Path) -> None:
    lines = [
        "java.nio.channels.ClosedChannelException: null",
        "\tat io.netty.channel.AbstractChannel.write(Unknown Source)",
        *entries(connected("a")),
        "x" * 2_000_000,
        "2026-11-26 06:20:3",
    ]
    path = tmp_path / "broker.log"
    path.write_bytes("\n".join(lines).encode() + b"\n2026-11-26 06:20:59 INFO main - \xff\xfe\n")
    assert [entry.text[-10:] for entry in LogFile(path)] == [entries(connected("a"))[0][-10:], " main - \ufffd\ufffd"]


def test_members_from_the_start_of_a_broker(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    assert members(tmp_path) == MEMBERS_OF_LIFE


def test_rotated_compressed_and_overlapping_files_are_one_log(tmp_path: Path) -> None:
    lines = entries(*LIFE)
    written(tmp_path, "broker.log", lines[4:])
    written(tmp_path, "broker.log.1", lines[2:5])
    with gzip.open(tmp_path / "broker-2026-11-25.0.log.gz", "wt") as file:
        file.write("\n".join(lines[:3]))
    assert members(tmp_path) == MEMBERS_OF_LIFE


def test_a_broker_may_have_its_logs_in_several_folders(tmp_path: Path) -> None:
    """Rotated files are in a folder below the newest one; a copy may be anywhere. It is alive between the first and
    the last line of each.
    """
    lines = entries(*LIFE)
    written(tmp_path, "a/broker.log", lines[3:])
    written(tmp_path, "a/otherdays/broker.log", lines[:4])
    assert members(tmp_path) == MEMBERS_OF_LIFE
    written(tmp_path, "b/broker.log", lines[5:])
    assert members(f"b={tmp_path / 'a'}", f"b={tmp_path / 'b'}") == MEMBERS_OF_LIFE
    assert alive(read(f"b={tmp_path / 'a'}", f"b={tmp_path / 'b'}")) == [("22:20:33", "22:26:33")]


def test_a_log_that_begins_in_the_middle_is_known_back_from_the_moment_at_which_nobody_is_there(tmp_path: Path) -> None:
    last = [closed("b"), "unregister consumer ok, no any connection, and remove consumer group, g"]
    written(tmp_path, "broker.log", entries("register OK", *LIFE[3:6], *last))
    assert members(f"b={tmp_path}") == [
        ("22:20:33", "a b"), ("22:21:33", "b"), ("22:22:33", "b c"), ("22:23:33", "b"), ("22:24:33", ""),
    ]  # fmt: skip


def test_without_such_a_moment_members_are_unknown(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE[3:]))
    assert members(f"b={tmp_path}") == []
    recording = read(f"b={tmp_path}")
    assert recording.unknown == {"g": ["b"]}
    assert "g: its members are unknown for some of the time at b" in str(recording)


def test_one_snapshot_makes_all_of_it_known(tmp_path: Path) -> None:
    written(tmp_path, "logs/broker.log", entries(*LIFE[3:]))
    table = {
        "connectionSet": [{"clientId": "b@1", "clientAddr": "10.2.0.7:50098"}],
        "messageModel": "CLUSTERING",
        "subscriptionTable": {},
    }
    at = int(utc("2026-11-25T22:23:40").timestamp() * 1000)
    snapshot = {"kind": "connection", "at": at, "group": "g", "broker": "b", "body": json.dumps(table)}
    now = written(tmp_path, "now.jsonl", [json.dumps(snapshot)])
    assert members(f"b={tmp_path / 'logs'}", recordings=[now]) == [
        ("22:20:33", "b"), ("22:21:33", "b c"), ("22:22:33", "b"),
    ]  # fmt: skip


def test_nothing_is_known_of_the_time_without_lines(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", [*entries(BOOT, connected("a")), *entries("register OK", start=600)])
    recording = read(tmp_path)
    assert times(MEMBERSHIP_SNAPSHOTS, recording) == ["22:20:33", "22:20:40", "22:21:00", "22:21:20", "22:21:33"]
    known = "b: 2026-11-25T22:20:33Z/2026-11-25T22:21:33Z and 2026-11-25T22:30:33Z/2026-11-25T22:30:33Z"
    assert known in str(recording)


def test_recorded_snapshots_are_better_than_logs(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(BOOT, connected("a"), "register OK"))
    first, last = (int(utc(f"2026-11-25T{clock}").timestamp() * 1000) for clock in ("22:20:50", "22:22:10"))
    path = write_recording(read(tmp_path), tmp_path / "logs.jsonl.gz", [(first, last)])
    kept = [each.values for each in outcomes(read_lines(path)) if isinstance(each, Row)]
    assert [time_of(row) for row in kept if "connections" in row] == ["22:20:33", "22:20:40", "22:22:20", "22:22:33"]


def test_queues_of_topics_are_those_of_the_configuration_and_its_changes(tmp_path: Path) -> None:
    changed = f"update topic config, old:[{CONFIG.format(8, '')}] new:[{CONFIG.format(4, '')}]"
    written(tmp_path, "broker.log", entries(BOOT, changed))
    table = {"topicConfigTable": {"u": {"readQueueNums": 3, "writeQueueNums": 3, "perm": 6}}}
    written(tmp_path, "config/topics.json", [json.dumps(table)])
    routes = {}
    for row in rows_of(ROUTE_SNAPSHOTS, read(f"b={tmp_path}")):
        (queues,) = row["queues"]
        routes[row["topic"], time_of(row)] = queues["read_queue_nums"]
    assert (routes["t", "22:20:33"], routes["t", "22:21:33"], routes["u", "22:21:33"]) == (8, 4, 3)


def test_a_wait_for_a_lock_lasts_until_the_client_has_it_or_asks_no_more(tmp_path: Path) -> None:
    """Queue 1 is refused at :33 and :53, and taken at :13. Queue 2 is refused at :33, and never asked for again."""
    refused = (
        "tryLockBatch, message queue locked by other client. Group: g OtherClientId: b@1 NewClientId: a@1 "
        "MessageQueue [topic=t, brokerName=b, queueId={}]"
    )
    got = refused.replace("locked by other client", "not locked, I got it").replace("OtherClientId: b@1 ", "")
    lines = [BOOT, connected("a"), refused.format(1), refused.format(1), got.format(1), "register OK"]
    written(tmp_path, "broker.log", entries(*lines, every=20))
    written(tmp_path, "lock.log", entries(refused.format(2), start=40))
    running = rows_of(CLIENT_SNAPSHOTS, read(tmp_path))
    assert all(row["consume_orderly"] for row in running)
    waiting = [(time_of(row), [queue["queue_id"] for queue in row["lock_refused"]]) for row in running]
    changes = [now for before, now in pairwise([("", [0]), *waiting]) if before[1] != now[1]]
    assert changes == [("22:21:13", [1, 2]), ("22:21:33", [1]), ("22:21:53", [])]


def test_a_member_that_broadcasts_among_others_is_known_by_its_own_model(tmp_path: Path) -> None:
    """And the group does not broadcast, whoever connected last; without such a member no client says a model."""
    casts = connected("b").replace("CLUSTERING", "BROADCASTING")
    written(tmp_path / "mixed", "broker.log", entries(BOOT, connected("a"), casts, closed("b"), "register OK"))
    listed = rows_of(MEMBERSHIP_SNAPSHOTS, read(tmp_path / "mixed"))
    assert {row["message_model"] for row in listed if row["connections"]} == {"CLUSTERING"}
    said = rows_of(CLIENT_SNAPSHOTS, read(tmp_path / "mixed"))
    models = {row["client_id"]: row["message_model"] for row in said}
    assert models == {"a@1": "CLUSTERING", "b@1": "BROADCASTING"}
    written(tmp_path / "alike", "broker.log", entries(BOOT, connected("a"), connected("b"), "register OK"))
    assert rows_of(CLIENT_SNAPSHOTS, read(tmp_path / "alike")) == []


def test_offsets_are_those_of_the_last_commit_in_each_cadence(tmp_path: Path) -> None:
    """Times are those of the last commit, not of the cadence: nobody knows what was committed after it. Another file
    of the same client has some of the lines, too.
    """
    commits = [
        f"[persistAll] Group: g ClientId: c@1 updateConsumeOffsetToBroker MessageQueue [topic=t, brokerName=b, "
        f"queueId={queue_id}] {offset}"
        for queue_id, offset in ((0, 5), (1, 7), (0, 6), (0, 9), (1, 8))
    ]
    lines = entries(*commits, every=5)  # at :33 :38 :43 :48 :53
    written(tmp_path, "rocketmq_client.log", lines[:4])
    written(tmp_path, "otherdays/rocketmq_client.1.log", lines[2:])
    queue = itemgetter("broker_name", "queue_id", "consumer_offset")
    committed = rows_of(OFFSET_SNAPSHOTS, read(tmp_path))
    assert [(time_of(row), [*map(queue, row["offsets"])]) for row in committed] == [
        ("22:20:38", [("b", 0, 5), ("b", 1, 7)]), ("22:20:53", [("b", 0, 9), ("b", 1, 8)]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "there is no log below"),
        ({"broker.log": entries(BOOT, BOOT.replace("[b,", "[other,"))}, "logs of several brokers, b, other: put each"),
        ({"broker.log": entries(connected("a"))}, "does not say whose logs it has: name the broker, --logs BROKER="),
        ({"topics.json": ["[]"], "broker.log": entries(BOOT)}, "topics.json is no topics.json of a broker"),
    ],
)
def test_logs_that_cannot_be_read_as_they_are(files: dict[str, list[str]], said: str, tmp_path: Path) -> None:
    for name, lines in files.items():
        written(tmp_path, name, lines)
    with pytest.raises(InputFileError, match=said):
        read(tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="nowhere does not exist"):
        read(f"b={tmp_path / 'nowhere'}")


def test_logs_of_another_product_are_named(tmp_path: Path) -> None:
    written(tmp_path, "nginx.log", ['10.1.1.1 - - [26/Nov/2026:06:20:33 +0000] "GET / HTTP/1.1" 200'])
    written(tmp_path, "broker.log", entries(BOOT))
    assert f"nothing was understood in {tmp_path / 'nginx.log'}" in str(read(tmp_path))


def test_files_that_say_nothing_of_consumers_are_passed_over_and_no_proof_that_a_broker_lives(tmp_path: Path) -> None:
    """RocksDB writes another zone, and `watermark.log` has a layout of its own."""
    written(tmp_path, "broker.log", entries(*LIFE))
    written(tmp_path, "watermark.log", ["2026-11-26 07:20:33 - [WATERMARK] Send Queue Size: 0 SlowTimeMills: 0"])
    written(tmp_path, "root_store_LOG", ["2026/11/26-11:29:33.41 1 Compile date", "2023-08-29 09:25:38 of it"])
    recording = read(tmp_path)
    assert "2 log files, 8 entries, 6 of them understood; 1 file of other kinds, such as store.log" in str(recording)
    assert alive(recording) == [("22:20:33", "22:26:33")]


RESTART = [
    *(BOOT, f"create new topic [{CONFIG.format(4, '')}]", connected("a"), "register OK"),
    *("brokerConfigPath=", "rocketmqHome=/data", f"load exist local topic, {CONFIG.format(4, '')}", BOOT),
    *("register OK", connected("a")),
]


def _routes(folder: Path) -> list[tuple[str, int]]:
    """(time, queues of t), at each change."""
    rows = rows_of(ROUTE_SNAPSHOTS, read(folder))
    counts = [(time_of(row), sum(queue["broker_name"] == "b" for queue in row["queues"])) for row in rows]
    return [now for before, now in pairwise([("", -1), *counts]) if before[1] != now[1]]


def test_a_broker_that_restarts_is_down_from_its_last_line_on(tmp_path: Path) -> None:
    """Its last line is of 22:21:03. Another broker of the topic goes on, so that its route is known at 22:21:20."""
    written(tmp_path, "b/broker.log", entries(*RESTART, every=10))
    other = [BOOT.replace("[b,", "[x,"), *RESTART[1:2], *(["register OK"] * 8)]
    written(tmp_path, "x/broker.log", entries(*other, every=10))
    assert members(tmp_path / "b") == [("22:20:33", ""), ("22:20:53", "a"), ("22:21:43", ""), ("22:22:03", "a")]
    assert _routes(tmp_path) == [("22:20:33", 0), ("22:20:43", 1), ("22:21:20", 0), ("22:21:43", 1)]


def test_a_topic_that_a_broker_does_not_load_when_it_starts_is_lost(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*RESTART[:6], *RESTART[7:], every=10))
    assert _routes(tmp_path) == [("22:20:33", 0), ("22:20:43", 1), ("22:21:33", 0)]


def test_the_route_is_unknown_while_the_log_of_one_of_its_brokers_has_a_gap(tmp_path: Path) -> None:
    """Nothing says that the broker was down."""
    written(tmp_path, "b/broker.log", [*entries(*RESTART[:3]), *entries("register OK", start=900)])
    other = [BOOT.replace("[b,", "[x,"), *RESTART[1:2], *(["register OK"] * 14)]
    written(tmp_path, "x/broker.log", entries(*other))
    recording = read(tmp_path)
    rows = rows_of(ROUTE_SNAPSHOTS, recording)
    known = {*map(time_of, rows)}
    assert {"22:25:00", "22:35:33"} <= known
    assert not {"22:25:20", "22:35:00"} & known
    names = [{queue["broker_name"] for queue in row["queues"]} for row in rows if time_of(row) >= "22:21:33"]
    assert all("b" in brokers for brokers in names)
