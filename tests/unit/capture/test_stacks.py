"""The text of a client's threads, as RocketMQ writes it, and the stacks that the recording has of it."""

from pathlib import Path

import pytest

from spark_jobs.capture.bodies import consume_stacks

ROOT = Path(__file__).parents[3]
#: What a consumer of 5.4.0 on Java 17 has answered, whose listener slept; some of its threads.
REAL = (ROOT / "tests" / "data" / "jstack.txt").read_text()


def thread(name: str, state: str, *frames: str, end: str = "\n") -> str:
    """As UtilAll.jstack writes it; `end` is that of lines on the client's system."""
    lines = (f"TID: 7 STATE: {state}", *frames)
    return "".join(f"{name:<40}{line}{end}" for line in lines) + "\n"


def test_four_threads_that_sleep_in_the_listener_are_one_stack() -> None:
    executor = "java.base@17.0.15/java.util.concurrent."
    frames = (
        "java.base@17.0.15/java.lang.Thread.sleep(Native Method)",
        "app//Clients.work(Clients.java:221)",
        "app//Clients.lambda$consumer$5(Clients.java:279)",
        "app//Clients$$Lambda$135/0x00007f4a490a68c0.consumeMessage(Unknown Source)",
        "app//org.apache.rocketmq.client.impl.consumer.ConsumeMessageConcurrentlyService$ConsumeRequest.run"
        "(ConsumeMessageConcurrentlyService.java:411)",
        f"{executor}Executors$RunnableAdapter.call(Executors.java:539)",
        f"{executor}FutureTask.run(FutureTask.java:264)",
        f"{executor}ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java:1136)",
        f"{executor}ThreadPoolExecutor$Worker.run(ThreadPoolExecutor.java:635)",
        "java.base@17.0.15/java.lang.Thread.run(Thread.java:840)",
    )
    stack = {"state": "TIMED_WAITING", "threads": 4, "frames": frames}
    assert consume_stacks(REAL, "stuck-service") == {"threads": 4, "stacks": [stack]}


def test_stacks_are_of_one_group_the_most_common_first() -> None:
    text = (
        thread("ConsumeMessageThread_pay_1", "BLOCKED", "a.B.c(B.java:1)")
        + thread("ConsumeMessageThread_pay_2", "WAITING", "a.B.d(B.java:2)", "a.B.e(B.java:3)")
        + thread("ConsumeMessageThread_pay_10", "WAITING", "a.B.d(B.java:2)", "a.B.e(B.java:3)")
        + thread("ConsumeMessageThread_pay_2_1", "WAITING", "other.Group.x(Group.java:1)")
        + thread("ConsumeMessageThread_bill_1", "WAITING", "other.Group.x(Group.java:1)")
        + thread("ConsumeMessageScheduledThread_pay_1", "WAITING", "no.Consumer.x(Consumer.java:1)")
    )
    assert consume_stacks(text, "pay") == {
        "threads": 3,
        "stacks": [
            {"state": "WAITING", "threads": 2, "frames": ("a.B.d(B.java:2)", "a.B.e(B.java:3)")},
            {"state": "BLOCKED", "threads": 1, "frames": ("a.B.c(B.java:1)",)},
        ],
    }


@pytest.mark.parametrize(
    ("group", "name", "end"),
    [
        ("pay", "ConsumeMessageThread_3", "\n"),
        ("pay", "ConsumeMessageThread_pay_3", "\r\n"),
        ("a.b%c+d", "ConsumeMessageThread_a.b%c+d_3", "\n"),
        ("g" * 120, f"ConsumeMessageThread_{'g' * 100}_12", "\n"),
    ],
    ids=["of 4.3 and POP", "Windows", "any name", "a long name"],
)
def test_names_of_consume_threads(group: str, name: str, end: str) -> None:
    stack = {"state": "RUNNABLE", "threads": 1, "frames": ("a.B.c(B.java:1)",)}
    found = consume_stacks(thread(name, "RUNNABLE", "a.B.c(B.java:1)", end=end), group)
    assert found == {"threads": 1, "stacks": [stack]}


@pytest.mark.parametrize(
    "text", ["", "no threads", "java.lang.OutOfMemoryError, a.B.c", thread("main", "RUNNABLE", "a")]
)
def test_a_text_without_consume_threads_has_no_stacks(text: str) -> None:
    assert consume_stacks(text, "pay") is None


def test_what_is_recorded_is_bounded() -> None:
    """Of 25 threads with 100 frames of 300 characters each: 20 stacks, 60 frames, 255 characters."""
    frames = [f"{number:03}{'x' * 297}" for number in range(100)]
    text = "".join(
        thread(f"ConsumeMessageThread_pay_{number}", "WAITING", f"{number:02}", *frames) for number in range(25)
    )
    found = consume_stacks(text, "pay")
    assert found is not None
    assert found["threads"] == 25
    assert [stack["frames"][0] for stack in found["stacks"]] == [f"{number:02}" for number in range(20)]
    assert {len(stack["frames"]) for stack in found["stacks"]} == {60}
    assert {len(frame) for stack in found["stacks"] for frame in stack["frames"][1:]} == {255}
