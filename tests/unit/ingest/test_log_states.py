"""Files of a broker's state at one moment: queue counts, groups, offsets, and members as mqadmin prints them."""

import os
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.recorded import LogRecording
from tests.support.logged import BOOT, LIFE, connected, entries, members, read, rows_of, time_of, times, utc, written

#: As brokers write it: keys are integers, and groups of RocketMQ itself and the offsets of proxies are among them.
OFFSETS = """{
	"dataVersion":{"counter":448,"stateVersion":0,"timestamp":1795645300000},
	"groupTopicMap":{"g":["t"]},
	"offsetTable":{
		"t@g":{0:7,1:-1
		},
		"%RETRY%g@g":{0:0},
		"%RETRY%other@g":{0:5},
		"rmq_sys_REVIVE_LOG_c@CID_RMQ_SYS_REVIVE_GROUP":{0:8461},
		"T@g@broadcast":{0:274}
	}
}"""
#: `dataVersion.timestamp` is 22:21:40Z.
COPIED = "2026-11-25T22:23:00"
OLD_TEXT = """001  b@1                              10.2.0.7:50098         JAVA     V4_7_1

Below is subscription:001  Topic: t                                        SubExpression: A || B
002  Topic: %RETRY%g                                 SubExpression: *
ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
NEW_TEXT = """#ClientId                            #ClientAddr            #Language  #Version
b@1                                  10.2.0.7:50098         JAVA       V5_4_0

Below is subscription:
#Topic               #SubExpression
t                    A || B
%RETRY%g             *

ConsumeType: CONSUME_PASSIVELY
MessageModel: CLUSTERING
ConsumeFromWhere: CONSUME_FROM_LAST_OFFSET
"""
NOT_ONLINE = """org.apache.rocketmq.tools.command.SubCommandException: ConsumerConnectionSubCommand command failed
Caused by: org.apache.rocketmq.client.exception.MQBrokerException: CODE: 206  DESC: the consumer group[g] not online
"""


def copied(folder: Path, name: str, text: str, at: str = COPIED) -> Path:
    """A file whose own time this is, in UTC."""
    path = written(folder, name, [text])
    os.utime(path, (utc(at).timestamp(),) * 2)
    return path


def committed(recording: LogRecording) -> Sequence[tuple[str, str, Sequence[tuple[str, int, int]]]]:
    queue = itemgetter("broker_name", "queue_id", "consumer_offset")
    return [(time_of(row), row["topic"], [*map(queue, row["offsets"])]) for row in rows_of(OFFSET_SNAPSHOTS, recording)]


@pytest.mark.parametrize("text", [OFFSETS, OFFSETS.replace("{0:7,1:-1", '{"0":7,"1":-1')])
def test_offsets_are_those_of_the_moment_at_which_the_file_was_written(text: str, tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    path = copied(tmp_path, "store/config/consumerOffset.json", text)
    recording = read(tmp_path)
    expected = [("22:23:00", "%RETRY%g", [("b", 0, 0)]), ("22:23:00", "t", [("b", 0, 7), ("b", 1, -1)])]
    assert committed(recording) == expected
    assert f"{path} is of 2026-11-25T22:23Z, as its own time says" in str(recording)


@pytest.mark.parametrize(
    ("own", "given", "said"),
    [
        ("1970-01-01T00:00:00", None, "its own time says 1970-01-01T00:00Z, but its content has changed since"),
        ("2026-11-25T22:21:00", None, "its own time says 2026-11-25T22:21Z, but its content has changed since"),
        ("2026-11-25T23:00:00", None, "its own time says 2026-11-25T23:00Z, but there is no log of b of that time"),
        (COPIED, "2026-11-25T21:00:00", "--state-at says 2026-11-25T21:00Z, but its content has changed since"),
    ],
)
def test_a_copy_with_an_impossible_time_is_passed_over(own: str, given: str | None, said: str, tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    path = copied(tmp_path, "consumerOffset.json", OFFSETS, own)
    recording = read(tmp_path, state_at=utc(given) if given else None)
    assert f"{path} is passed over: {said}. Name the time of the copy with --state-at" in str(recording)
    assert committed(recording) == []


def test_the_user_may_say_when_files_were_copied(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    path = copied(tmp_path, "consumerOffset.json", OFFSETS, "1970-01-01T00:00:00")
    recording = read(tmp_path, state_at=utc("2026-11-25T22:24:00"))
    assert {at for at, _, _ in committed(recording)} == {"22:24:00"}
    assert f"{path} is of 2026-11-25T22:24Z, as --state-at says" in str(recording)


def test_a_file_that_was_copied_while_it_was_written_is_that_of_before(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    copied(tmp_path, "consumerOffset.json", OFFSETS[:200])
    copied(tmp_path, "consumerOffset.json.bak", OFFSETS, "2026-11-25T22:22:55")
    assert {at for at, _, _ in committed(read(tmp_path))} == {"22:22:55"}
    (tmp_path / "consumerOffset.json.bak").unlink()
    with pytest.raises(InputFileError, match=r"consumerOffset\.json cannot be read: .* Copy it again"):
        read(tmp_path)


def test_groups_that_no_log_names_have_no_consumer_since_the_broker_started(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries("register OK", BOOT, "register OK"))
    copied(tmp_path, "subscriptionGroup.json", '{"subscriptionGroupTable":{"g":{},"TOOLS_CONSUMER":{}}}')
    rows = rows_of(MEMBERSHIP_SNAPSHOTS, read(tmp_path))
    assert all((row["consumer_group"], row["connections"]) == ("g", []) for row in rows)
    assert time_of(rows[0]) == "22:21:33"


def test_of_a_group_that_no_log_names_nothing_is_known_where_the_broker_had_started_before(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries("register OK", "register OK"))
    copied(tmp_path, "subscriptionGroup.json", '{"subscriptionGroupTable":{"g":{}}}')
    recording = read(f"b={tmp_path}")
    assert recording.unknown == {"g": ["b"]}
    assert [*recording.rows] == []


def test_queue_counts_that_changed_after_the_log_are_reported(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    table = '{"t":{"readQueueNums":3,"writeQueueNums":3,"perm":6}}'
    version = '"dataVersion":{"timestamp":1795690000000}'
    copied(tmp_path, "topics.json", f'{{"topicConfigTable":{table},{version}}}')
    recording = read(tmp_path)
    assert "topics.json has changed at 2026-11-26T10:46:40Z, after the log" in str(recording)
    assert rows_of(ROUTE_SNAPSHOTS, recording)


@pytest.mark.parametrize("text", [OLD_TEXT, NEW_TEXT])
def test_printed_connections_make_the_time_before_known(text: str, tmp_path: Path) -> None:
    """The log begins when b is connected already, and knows nobody's arrival but c's."""
    written(tmp_path, "broker.log", entries(*LIFE[3:]))
    path = copied(tmp_path, "connections.txt", text, "2026-11-25T22:23:40")
    assert members(f"b={tmp_path}") == [("22:20:33", "b"), ("22:21:33", "b c"), ("22:22:33", "b")]
    recording = read(f"b={tmp_path}")
    assert f"{path} is of 2026-11-25T22:23:40Z, as its own time says" in str(recording)
    assert recording.unknown == {}


@pytest.mark.parametrize(("text", "version"), [(OLD_TEXT, 355), (NEW_TEXT, 493)])
def test_what_printed_connections_say(text: str, version: int, tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries("register OK", "register OK"))
    copied(tmp_path, "connections.txt", text, "2026-11-25T22:21:00")
    recording = read(f"b={tmp_path}")
    assert times(MEMBERSHIP_SNAPSHOTS, recording) == ["22:20:33", "22:20:40", "22:21:00", "22:21:20", "22:21:33"]
    client = {"client_addr": "10.2.0.7:50098", "client_id": "b@1", "language": "JAVA", "version": version}
    subscription = {"topic": "t", "expression_type": None, "sub_string": "A || B", "sub_version": None}
    for row in rows_of(MEMBERSHIP_SNAPSHOTS, recording):
        assert client in row["connections"]
        assert subscription in row["subscriptions"]
        assert (row["consume_type"], row["message_model"]) == ("CONSUME_PASSIVELY", "CLUSTERING")


def test_several_groups_may_be_in_one_text(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries("register OK", "register OK"))
    other = NEW_TEXT.replace("%RETRY%g", "%RETRY%h").replace("b@1", "x@1")
    copied(tmp_path, "all.txt", NEW_TEXT + other, "2026-11-25T22:21:00")
    rows = rows_of(MEMBERSHIP_SNAPSHOTS, read(f"b={tmp_path}"))
    ids = {(row["consumer_group"], *(each["client_id"] for each in row["connections"])) for row in rows}
    assert ids == {("g", "b@1"), ("h", "x@1")}


def test_a_group_that_is_not_online_has_no_member_before_its_next_one(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries("register OK", "register OK", connected("a")))
    copied(tmp_path, "g.txt", NOT_ONLINE, "2026-11-25T22:21:00")
    assert members(f"b={tmp_path}") == [("22:20:33", ""), ("22:22:33", "a")]


def test_a_list_of_the_second_in_which_members_change_is_not_used(tmp_path: Path) -> None:
    """The log says to the second when c connected: nobody knows whether the list was before that."""
    written(tmp_path, "broker.log", entries(*LIFE[3:]))
    copied(tmp_path, "g.txt", NEW_TEXT, "2026-11-25T22:21:33")
    assert members(f"b={tmp_path}") == []


def test_a_text_that_is_cut_off(tmp_path: Path) -> None:
    written(tmp_path, "broker.log", entries(*LIFE))
    copied(tmp_path, "g.txt", NEW_TEXT[: NEW_TEXT.index("ConsumeFromWhere")])
    with pytest.raises(InputFileError, match=r"g\.txt is cut off: print the connections again"):
        read(tmp_path)


def test_whose_state_a_file_has(tmp_path: Path) -> None:
    """That of the broker whose name the user gives, or a folder has, or whose logs are near."""
    written(tmp_path, "one/logs/broker.log", entries(*LIFE))
    written(tmp_path, "two/logs/broker.log", entries(BOOT.replace("[b,", "[dc1@b2,"), "register OK"))
    copied(tmp_path, "one/config/consumerOffset.json", OFFSETS, "2026-11-25T22:21:45")
    copied(tmp_path, "dc1_b2/consumerOffset.json", OFFSETS.replace("0:7", "0:9"), "2026-11-25T22:21:45")
    found = committed(read(tmp_path))
    assert ("22:21:45", "t", [("b", 0, 7), ("b", 1, -1), ("dc1@b2", 0, 9), ("dc1@b2", 1, -1)]) in found
    copied(tmp_path, "consumerOffset.json", OFFSETS)
    with pytest.raises(InputFileError, match="does not say of which broker with logs it is: name it, --logs BROKER="):
        read(tmp_path)
