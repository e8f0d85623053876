"""Round after round: on time, not faster than allowed, until it is told to end."""

import threading
import time
from pathlib import Path

import pytest

from spark_jobs.capture import asking
from spark_jobs.capture.calls import Call, CallError
from spark_jobs.capture.capture import Capture, Settings
from spark_jobs.errors import CaptureError
from tests.support.fakes import (
    TIMED_OUT,
    Answers,
    FakeAdmin,
    broker_answers,
    brokers,
    connections,
    offset_table,
    queue,
    recorded,
    route,
    version,
)


def admin(groups: int, seconds: float = 0.0) -> FakeAdmin:
    """Two brokers that host the topic of every group."""
    told: Answers = {
        ("brokers", "name server"): brokers(a="10.0.0.1:10911", b="10.0.0.2:10911"),
        ("route", "name server"): route("a", "b"),
    }
    for broker in ("a", "b"):
        told |= broker_answers(
            broker,
            *(f"g{number}" for number in range(groups)),
            connection=connections("t", "c1", "c2"),
            topic_config='{"topicName":"t"}',
            running='{"mqTable":{}}',
            topicstats=offset_table(queue(broker, "t", maxOffset=9, minOffset=0)),
            stats=offset_table(queue(broker, "t")),
        )
    return FakeAdmin(told, seconds)


def captured(fake: FakeAdmin, folder: Path, lines: list[str] | None = None, **settings: object) -> list[str]:
    """The lines about the rounds."""
    lines = [] if lines is None else lines
    Capture(Settings("10.0.0.9:9876", folder, **settings), fake, lambda _: None).run(lines.append, lines.append)  # type: ignore[arg-type]
    return lines


def set_back(monkeypatch: pytest.MonkeyPatch, folder: Path, *seconds: float) -> list[str]:
    """The lines about rounds of 0.4 s, in each of which the clock is set back by so much."""
    lines: list[str] = []
    offsets = [round(back * 1e9) for back in seconds]
    monkeypatch.setattr(asking, "time_ns", lambda: time.time_ns() - offsets[len(lines)])
    return captured(admin(groups=1), folder, lines, cadence=0.4, duration=0.4 * len(seconds) - 0.1, rate=5000)


def test_one_round_asks_everything_once(tmp_path: Path) -> None:
    fake = admin(groups=3)
    said = captured(fake, tmp_path, once=True)
    assert fake.counts() == {
        "brokers": 1,
        "groups": 2,
        "broker_version": 2,
        "request_modes": 2,
        "connection": 6,
        # Of the groups, and how far what was popped is revived.
        "stats": 8,
        "running": 6,
        # t, and a retry topic of each group.
        "route": 4,
        # Of t, of the first broker that tells.
        "topic_config": 1,
        "topicstats": 8,
    }
    assert said == ["3 groups, 40 calls (all answered), 0.0 s behind"]
    lines = recorded(tmp_path)
    of_brokers = {"cluster": "Main", "brokers": {"a": "Main", "b": "Main"}}
    assert lines[0] == {"kind": "meta", "cadence_s": 20.0, "rocketmq": "V5_4_0"} | of_brokers
    kinds = [line["kind"] for line in lines]
    assert kinds.count("call") == 40
    assert kinds.count("running") == 6


def test_rounds_keep_the_cadence(tmp_path: Path) -> None:
    fake = admin(groups=4)
    assert len(captured(fake, tmp_path, cadence=0.6, duration=1.5, rate=5000)) == 3
    discovered = max(at for at, call in fake.asked if call.request == "request_modes")
    # Nothing is asked before its time: the groups of a round, and how far what was popped is revived, come evenly over
    # 0.9 × 0.6 of the cadence.
    for number in range(4):
        asked = [at for at, call in fake.asked if call.request == "connection" and call.group == f"g{number}"]
        assert len(asked) == 6
        for place, at in enumerate(asked[::2]):
            assert at - discovered >= 0.6 * place + 0.6 * 0.9 * 0.6 * number / 5


def test_calls_keep_the_rate(tmp_path: Path) -> None:
    fake = admin(groups=3)
    begun = time.monotonic()
    captured(fake, tmp_path, once=True, rate=50)
    assert time.monotonic() - begun > 35 / 50


def test_clients_and_offsets_of_topics_have_their_turn(tmp_path: Path) -> None:
    fake = admin(groups=8)
    captured(fake, tmp_path, cadence=0.6, duration=3.4, rate=5000)
    counts = fake.counts()
    # Rounds 0 to 5: every client in each second one, every topic's offsets (2 brokers) in each third; brokers before
    # round 0, and in 3.
    assert (counts["connection"], counts["route"], counts["topic_config"]) == (6 * 16, 6 * 9, 1)
    assert (counts["running"], counts["topicstats"], counts["brokers"], counts["groups"]) == (3 * 16, 2 * 18, 2, 4)
    rounds = [[call.group for _, call in fake.asked if call.request == "running"][at : at + 16] for at in (0, 16, 32)]
    assert set(rounds[0]) == set(rounds[1]) == set(rounds[2])


def test_a_capture_ends_when_it_is_stopped(tmp_path: Path) -> None:
    fake = admin(groups=2)
    capture = Capture(Settings("10.0.0.9:9876", tmp_path, cadence=600), fake, lambda _: None)
    begun = time.monotonic()
    threading.Timer(0.5, capture.stop).start()
    capture.run(lambda _: None, lambda _: None)
    assert time.monotonic() - begun < 5
    assert [line["kind"] for line in recorded(tmp_path)].count("connection") == 2


def test_a_hanging_client_does_not_hold_the_round_up(tmp_path: Path) -> None:
    fake = admin(groups=2)
    fake.before_answer = lambda call: time.sleep(2 * (call.request == "running"))
    assert len(captured(fake, tmp_path, cadence=0.5, duration=2.4, rate=5000)) == 5


@pytest.mark.parametrize(("after", "asked"), [(0.4, ["c1", "c2"]), (60.0, []), (None, [])])
def test_clients_whose_queue_stands_are_asked_for_stacks(after: float | None, asked: list[str], tmp_path: Path) -> None:
    fake = admin(groups=1)
    thread = f"{'ConsumeMessageThread_g0_1':<40}"
    for broker in ("a", "b"):
        fake.answers["running", broker] = f'{{"mqTable":{{{queue("a", "t")}}}}}'
        fake.answers["stacks", broker] = f"{thread}TID: 4 STATE: WAITING\n{thread}a.B.c(B.java:1)\n"
    captured(fake, tmp_path, cadence=0.4, duration=1.8, rate=5000, stacks_after=after)
    assert fake.counts()["running"] in (4, 6)
    # Both are asked at once.
    assert sorted(call.client for _, call in fake.asked if call.request == "stacks") == asked
    assert sorted(line["client"] for line in recorded(tmp_path) if line["kind"] == "stacks") == asked


def test_calls_at_once_are_bounded(tmp_path: Path) -> None:
    fake = admin(groups=30, seconds=0.02)
    captured(fake, tmp_path, once=True, rate=5000, at_once=6)
    assert 4 <= fake.most_at_once <= 6


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TIMED_OUT, r"10\.0\.0\.9:9876 does not answer \(RemotingTimeoutException wait .*\): check --namesrv"),
        ("MQBrokerException CODE: 16  DESC: no permission for reader", "does not accept the access key and secret key"),
        ("MQBrokerException CODE: 1  DESC: AclException check signature failed", "does not accept the access key"),
    ],
)
def test_a_cluster_that_cannot_be_asked_is_one_sentence(error: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=message):
        captured(FakeAdmin({("brokers", "name server"): error}), tmp_path / "new", once=True)
    assert not (tmp_path / "new").exists()


def test_keys_that_only_brokers_look_at(tmp_path: Path) -> None:
    fake = admin(groups=1)
    fake.answers["groups", "b"] = "MQBrokerException CODE: 16  DESC: check signature failed. BROKER: 10.0.0.2:10911"
    with pytest.raises(CaptureError, match="does not accept the access key and secret key"):
        captured(fake, tmp_path, once=True)


def test_several_clusters_need_a_name(tmp_path: Path) -> None:
    fake = admin(groups=1)
    two = fake.answers["brokers", "name server"].replace('"cluster":"Main"', '"cluster":"Other"', 1)
    fake.answers["brokers", "name server"] = two
    with pytest.raises(
        CaptureError, match="the name servers know Main and Other: choose a name for the recording with"
    ):
        captured(fake, tmp_path, once=True)
    captured(fake, tmp_path, once=True, cluster_name="eu")
    assert recorded(tmp_path)[0]["cluster"] == "eu"


def test_no_time_is_recorded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set back by 8 s after the second round, and right again after the fourth."""
    rounds = set_back(monkeypatch, tmp_path, 0, 0, 8, 8, 0, 0)
    assert ["NOT WRITTEN" in line for line in rounds] == [False, False, True, True, False, False]
    times = [line["at"] for line in recorded(tmp_path) if line["kind"] == "connection"]
    assert len(times) == 8
    assert times == sorted(times)


def test_a_clock_that_is_set_back_a_little_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not [line for line in set_back(monkeypatch, tmp_path, 0, 0.05, 0.05) if "NOT WRITTEN" in line]


def test_what_is_left_out_is_noted_once_and_again_when_a_broker_changes(tmp_path: Path) -> None:
    fake = admin(groups=1)
    fake.answers["broker_version", "a"] = version("4.7.1")

    def upgrade(_: Call) -> None:
        if fake.counts()["broker_version"] > 2:
            fake.answers["broker_version", "a"] = version("4.9.4")

    fake.before_answer = upgrade
    notes: list[str] = []
    settings = Settings("10.0.0.9:9876", tmp_path, cadence=0.3, duration=1.7, rate=5000)
    Capture(settings, fake, lambda _: None).run(lambda _: None, notes.append)
    lost = "topics' configuration: message types are unknown, and deleted topics look like lost routes"
    assert notes == [f"a (4.7.1) is not asked for {lost}", f"a (4.9.4) is not asked for {lost}"]
    assert {call.called.name for _, call in fake.asked if call.request in ("topic_config", "request_modes")} == {"b"}


def test_a_name_server_whose_first_answer_is_late_is_asked_again(tmp_path: Path) -> None:
    fake = admin(groups=1)

    def time_out_first(call: Call) -> None:
        if call.request == "brokers" and fake.counts()["brokers"] == 1:
            raise CallError(TIMED_OUT)

    fake.before_answer = time_out_first
    assert len(captured(fake, tmp_path, once=True)) == 1
    assert fake.counts()["brokers"] == 2
