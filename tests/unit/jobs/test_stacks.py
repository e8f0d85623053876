"""Stacks of consume threads: the method that most threads are in, and what an incident shows of them. No Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from schemas import CLIENT_STACKS
from spark_jobs.cli.main import main
from spark_jobs.operate.retention import Keep
from spark_jobs.show.recorder import (
    SharedMethod,
    Stack,
    StackAnswer,
    incident_stacks,
    method_of,
    shared_method,
    stack_lines,
)
from spark_jobs.store.read.delta import delta_tables
from tests.support.look import rows_into
from tests.support.pages import incident
from tests.support.stored import write
from tests.support.times import HOUR, at
from tests.support.what_if import nothing, rate, snapshots

SLEEP, PARK = "java.base@17.0.15/java.lang.Thread.sleep(Native Method)", "sun.misc.Unsafe.park(Native Method)"
RUN = "java.util.concurrent.ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:635)"
ROCKETMQ = (
    "app//org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService$ConsumeRequest.run(C.java:411)"
)
LISTENER = "com.acme.Listener.consumeMessage(Listener.java:30)"
IDLE = Stack("WAITING", 1, (PARK, "java.util.concurrent.ThreadPoolExecutor.getTask(ThreadPoolExecutor.java:1074)", RUN))


def stack(threads: int, *frames: str, state: str = "WAITING") -> Stack:
    """A stack of the listener's, with these frames inside."""
    return Stack(state, threads, (*frames, LISTENER, ROCKETMQ, RUN))


@pytest.mark.parametrize(
    ("frame", "method"),
    [
        (SLEEP, "java.lang.Thread.sleep"),
        ("app//Clients.work(Clients.java:221)", "Clients.work"),
        ("java.base/java.lang.Thread.run(Thread.java:833)", "java.lang.Thread.run"),
        ("com.acme.Dao.query(Dao.java:12)", "com.acme.Dao.query"),
        ("com.acme.Dao$$Lambda$14/1234567.run(Unknown Source)", "com.acme.Dao$$Lambda$14/1234567.run"),
        ("app//Dao$$Lambda$135/0x00007f4a490a68c0.get(Unknown Source)", "Dao$$Lambda$135/0x00007f4a490a68c0.get"),
        ("shop@2.1/com.acme.Dao.<init>(Dao.java:1)", "com.acme.Dao.<init>"),
        ("", ""),
    ],
)
def test_method_of_a_frame(frame: str, method: str) -> None:
    assert method_of(frame) == method


@pytest.mark.parametrize(
    ("stacks", "shared"),
    [
        ([stack(18, SLEEP, "com.acme.Dao.query(Dao.java:12)"), stack(2)], ("com.acme.Dao.query", 18, "WAITING")),
        # At different lines; the two others are elsewhere.
        (
            [
                stack(9, "com.acme.Dao.query(Dao.java:12)", state="RUNNABLE"),
                stack(9, "com.acme.Dao.query(Dao.java:13)", state="BLOCKED"),
                stack(1, "com.acme.Dao.query(Dao.java:14)", state="BLOCKED"),
            ],
            ("com.acme.Dao.query", 19, "BLOCKED"),
        ),
        ([stack(7, "a.A.a(A.java:1)"), stack(6, "b.B.b(B.java:1)")], ("a.A.a", 7, "WAITING")),
        # The innermost that most share is the listener.
        (
            [stack(7, "a.A.a(A.java:1)"), stack(7, "b.B.b(B.java:1)")],
            ("com.acme.Listener.consumeMessage", 14, "WAITING"),
        ),
        # Generated code is no method of the source; a recursion counts once.
        ([stack(1, "a.A$$EnhancerByCGLIB$$1.a(<generated>)")], ("com.acme.Listener.consumeMessage", 1, "WAITING")),
        (
            [stack(3, "a.A.a(A.java:1)", "a.A.a(A.java:2)"), stack(4)],
            ("com.acme.Listener.consumeMessage", 7, "WAITING"),
        ),
        # Threads that wait for messages are no part of the majority.
        ([IDLE._replace(threads=19), stack(1, "a.A.a(A.java:1)")], ("a.A.a", 1, "WAITING")),
        # Only Java and RocketMQ.
        ([Stack("BLOCKED", 2, (PARK, ROCKETMQ, RUN))], ("sun.misc.Unsafe.park", 2, "BLOCKED")),
        ([IDLE], None),
        ([Stack("RUNNABLE", 2, ())], None),
        ([], None),
    ],
)
def test_the_innermost_method_that_most_busy_threads_share(
    stacks: list[Stack], shared: tuple[str, int, str] | None
) -> None:
    assert shared_method(stacks) == (shared and SharedMethod(*shared))


def answer(second: float, client: str, threads: int, *stacks: Stack, group: str = "g") -> StackAnswer:
    return StackAnswer(group, at(second), client, threads, stacks)


def texts(*answers: StackAnswer) -> list[str]:
    return ["  " * line.indent + line.text for line in stack_lines(answers)]


def test_a_group_has_a_sentence_and_its_stacks() -> None:
    """Of the newest answer of each client, if it is not much older; since when of those before, too."""
    query = stack(18, SLEEP, "com.acme.Dao.query(Dao.java:12)")
    lines = texts(
        answer(-300, "c1", 20, query),
        answer(0, "c1", 20, stack(18, SLEEP)),
        answer(300, "c1", 20, query, IDLE._replace(threads=2)),
        answer(310, "c9", 20, query),
        answer(1000, "c1", 20, query, IDLE._replace(threads=2)),
        answer(1010, "c2", 20, query._replace(threads=20)),
    )
    assert lines == [
        "",
        "Stacks of consume threads",
        "  g (2 clients): 38 of 40 consume threads wait in com.acme.Dao.query, seen since 2026-03-01T10:05Z.",
        "    38 threads, WAITING:",
        *(f"      {frame}" for frame in query.frames),
        "    2 threads, WAITING:",
        *(f"      {frame}" for frame in IDLE.frames),
    ]


@pytest.mark.parametrize(
    ("state", "threads", "said"),
    [
        ("RUNNABLE", 1, "1 of 4 consume threads runs in a.A.a"),
        ("RUNNABLE", 2, "2 of 4 consume threads run in a.A.a"),
        ("BLOCKED", 1, "1 of 4 consume threads is blocked in a.A.a"),
        ("BLOCKED", 3, "3 of 4 consume threads are blocked in a.A.a"),
        ("TIMED_WAITING", 1, "1 of 4 consume threads waits in a.A.a"),
    ],
)
def test_states_in_words(state: str, threads: int, said: str) -> None:
    busy = stack(threads, "a.A.a(A.java:1)", state=state)
    lines = texts(answer(0, "c1", 4, busy, IDLE._replace(threads=4 - threads)))
    assert lines[2] == f"  g (1 client): {said}, seen since 2026-03-01T10:00Z."


def test_threads_that_share_nothing_are_said_to() -> None:
    scattered = [Stack("RUNNABLE", 1, (f"a.A.{name}(A.java:1)",)) for name in "abc"]
    lines = texts(answer(0, "c1", 20, IDLE._replace(threads=17), *scattered))
    assert lines[2] == "  g (1 client): 17 of 20 consume threads wait for messages; most of the others share no method."
    assert texts() == []


def test_what_is_shown_is_bounded() -> None:
    many = [Stack("RUNNABLE", 9 - number, (f"a.A.{number}(A.java:1)", *[LISTENER] * 59)) for number in range(9)]
    lines = texts(answer(0, "c1", 45, *many))
    assert [line.strip() for line in lines if line.startswith("    ") and "threads" in line] == [
        "9 threads, RUNNABLE:",
        "8 threads, RUNNABLE:",
        "7 threads, RUNNABLE:",
    ]
    assert len(lines) == 3 + 3 * (1 + 20)


def row(second: float, group: str = "g", cluster: str = "c") -> dict[str, object]:
    moment: datetime = at(second)
    stacks = [{"state": "WAITING", "threads": 2, "frames": [LISTENER]}]
    key = {"cluster": cluster, "consumer_group": group, "client_id": "c1", "captured_at": moment}
    return key | {"captured_date": moment.date(), "threads": 3, "stacks": stacks}


def test_stacks_are_kept_as_long_as_snapshots() -> None:
    assert Keep(snapshots=timedelta(days=7)).since(at(0))[CLIENT_STACKS] == datetime(2026, 2, 22, tzinfo=UTC)


def test_answers_are_of_the_groups_and_time_of_the_incident(tmp_path: Path) -> None:
    shown = incident(100, 400, "g", "h")
    stored = delta_tables(str(tmp_path))
    assert incident_stacks(stored, shown) == []
    rows = [row(99), row(300), row(100), row(400, "h"), row(401), row(200, "i"), row(200, cluster="d")]
    write(tmp_path, CLIENT_STACKS, rows)
    listener = Stack("WAITING", 2, (LISTENER,))
    assert incident_stacks(stored, shown) == [
        StackAnswer("g", at(100), "c1", 3, [listener]),
        StackAnswer("g", at(300), "c1", 3, [listener]),
        StackAnswer("h", at(400), "c1", 3, [listener]),
    ]


def test_explain_shows_stacks_of_the_time_of_its_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows_into(tmp_path, HOUR, 20, snapshots(lambda _: ["c1"], [rate(1)] * 4, [nothing] * 4))
    write(tmp_path, CLIENT_STACKS, [row(300), row(3000)])
    main(["explain", "--warehouse", str(tmp_path), "--group", "g", "--at", "2026-03-01T10:05"])
    shown = capsys.readouterr().out
    assert "2 of 3 consume threads wait in com.acme.Listener.consumeMessage, seen since 2026-03-01T10:05Z." in shown
    assert shown.count("2 threads, WAITING:") == 1
