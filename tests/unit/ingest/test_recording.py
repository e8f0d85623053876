import pytest

from schemas import OFFSET_SNAPSHOTS
from spark_jobs.ingest.files import Line
from spark_jobs.ingest.recording import NOT_LISTED, Blank, Meta, NoObservation, Outcome, Quarantined, Row, outcomes
from tests.support.bodies import failed, line, outcome, rejection, row

META_LINE = b'{"kind":"meta","cluster":"demo"}'


NOTHING_IN_GROUP = "MQClientException CODE: 1  DESC: The Consumer Group <pay> not exist in this consumer"
NO_ROUTE = "MQClientException CODE: 17  DESC: No topic route info in name server for the topic: orders"
NO_MEMBERS: dict[str, object] = {"connections": [], "subscriptions": []}


@pytest.mark.parametrize(
    ("kind", "error", "observed"),
    [
        ("connection", "code 206 the consumer group[pay] not online", NO_MEMBERS),
        ("connection", NOT_LISTED, NO_MEMBERS | {"listed": False}),
        ("route", NO_ROUTE, {"queues": [], "addresses": []}),
        ("running", NOTHING_IN_GROUP, {"answered": True, "in_group": False}),
        *(
            ("running", error, {"answered": False})
            for error in (
                "RemotingTimeoutException wait response on the channel </127.0.0.1:10931> timeout, 3000(ms)",
                "RemotingSendRequestException send request to </127.0.0.1:10931> failed",
                "org.apache.rocketmq.remoting.exception.RemotingTimeoutException wait response",
                "MQClientException CODE: 207  DESC: consumer <g> <c> Timeout: wait response",
            )
        ),
    ],
)
def test_some_errors_are_observations(kind: str, error: str, observed: dict[str, object]) -> None:
    """All else is unknown."""
    result = outcome(failed(kind, error))
    assert isinstance(result, Row)
    assert (
        result.values
        == dict.fromkeys(result.table.columns) | {name: row(line(kind))[name] for name in result.table.key} | observed
    )


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("connection", "RemotingTimeoutException wait response on the channel </127.0.0.1:10931> timeout, 3000(ms)"),
        ("connection", "RemotingConnectException connect to 127.0.0.1:10931 failed"),
        ("connection", "code 2060 what is this"),
        ("connection", ""),
        ("running", "MQClientException CODE: 1  DESC: The Consumer <pay> <172.17.0.1@1> not online"),
        ("running", "RemotingConnectException connect to 127.0.0.1:10931 failed"),
        ("stats", "MQClientException CODE: 213  DESC: Not found the consumer group consume stats"),
        ("stats", "code 206 the consumer group[pay] not online"),
        ("route", "RemotingTimeoutException wait response"),
        ("topicstats", "MQClientException CODE: 17  DESC: No topic route info"),
    ],
)
def test_other_errors_are_no_observation(kind: str, error: str) -> None:
    result = outcome(failed(kind, error))
    assert isinstance(result, NoObservation)
    assert (result.kind, result.error) == (kind, error)


def test_a_group_of_rocketmqs_tools_is_no_observation() -> None:
    assert isinstance(outcome(line("connection", group="TOOLS_CONSUMER")), NoObservation)
    assert isinstance(outcome(line("connection", group="CID_RMQ_SYS_REVIVE_GROUP")), Row)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"kind":"meta"}', "MISSING_FIELD"),
        (b'{"kind":"meta","cluster":7}', "WRONG_TYPE"),
        (b'{"kind":"meta","cluster":""}', "OUT_OF_RANGE"),
        (b'{"kind":"meta","cluster":"%s"}' % (b"x" * 256), "OUT_OF_RANGE"),
    ],
)
def test_a_bad_meta_line_has_a_reason(content: bytes, reason: str) -> None:
    """Bad lines of all other kinds: `tests/end_to_end/reliability/line_mutations.py`."""
    assert rejection(content)[0] == reason


@pytest.mark.parametrize("content", [b"", b"\n", b"  \t\r\n"])
def test_white_space_is_blank(content: bytes) -> None:
    assert isinstance(outcome(content), Blank)
    # Windows line ends and a byte order mark do no harm.
    assert isinstance(outcome(b"\xef\xbb\xbf" + META_LINE + b"\r\n"), Meta)


def several(*contents: bytes, cluster: str | None = None) -> list[Outcome]:
    return list(outcomes([Line(i, content) for i, content in enumerate(contents, start=1)], cluster))


def clusters(read: list[Outcome]) -> list[object]:
    return [outcome.values["cluster"] if isinstance(outcome, Row) else type(outcome).__name__ for outcome in read]


def test_lines_are_of_the_cluster_that_the_meta_line_above_names() -> None:
    other = META_LINE.replace(b"demo", b"other")
    first, *others = several(line("route"), META_LINE, line("route"), other, line("route"))
    assert clusters(others) == ["Meta", "demo", "Meta", "other"]
    assert isinstance(first, Quarantined)
    assert first.reason == "NO_CLUSTER"


def test_a_given_cluster_holds_where_no_meta_line_does() -> None:
    read = several(line("route"), META_LINE, line("route"), b'{"kind":"meta"}', line("route"), cluster="given")
    assert clusters(read) == ["given", "Meta", "demo", "Quarantined", "given"]


def test_after_an_unreadable_meta_line_the_cluster_is_not_guessed() -> None:
    assert clusters(several(META_LINE, b'{"kind":"meta"}', line("route"))) == ["Meta", "Quarantined", "Quarantined"]


def test_a_rejected_line_names_its_table_and_key() -> None:
    rejected = outcome(line("stats", body="{"))
    assert isinstance(rejected, Quarantined)
    assert rejected.table == OFFSET_SNAPSHOTS
    key = {"cluster": "demo", "consumer_group": "pay", "topic": "orders"}
    assert rejected.key == key | {"captured_at": "2026-11-21T02:02:27.799Z"}
