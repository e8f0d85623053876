"""A group whose queues get messages evenly, with what its members take of them and report of themselves."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from tests.support.client_groups import AVERAGELY
from tests.support.kernel import SETTINGS, audited_steps, group_histories
from tests.support.snapshots import client, membership, offsets, route
from tests.support.times import HOUR

NOTHING = StrategySettings()
SECONDS = range(0, 601, 20)
#: Messages of a queue by the second after the hour's beginning.
Messages = Callable[[int], int]


def snapshots(
    members: Callable[[int], Sequence[str]],
    came: Sequence[Messages],
    consumed: Sequence[Messages],
    seconds: Sequence[int] = SECONDS,
    seen: Sequence[int] = range(3600),
    clients: Sequence[dict[str, Any]] = (),
    readable: int | None = None,
) -> dict[Table, list[dict[str, Any]]]:
    """Snapshots at these seconds; every queue begins with offset 1,000, of which everything is consumed.

    `seen`: when the broker said who the members are; `clients`: what these report; `readable`: queues, where not all
    were read. With 1,000 less consumed nothing was ever committed.
    """
    return {
        MEMBERSHIP_SNAPSHOTS: [membership(second, *members(second)) for second in seconds if second in seen],
        ROUTE_SNAPSHOTS: [route(second, readable or len(came)) for second in seconds],
        OFFSET_SNAPSHOTS: [
            offsets(second, *(_sample(new(second), old(second)) for new, old in zip(came, consumed, strict=True)))
            for second in seconds
        ],
        CLIENT_SNAPSHOTS: [*clients],
    }


def steps(
    members: Callable[[int], Sequence[str]],
    came: Sequence[Messages],
    consumed: Sequence[Messages],
    seconds: Sequence[int] = SECONDS,
    configured: StrategySettings = NOTHING,
    **more: Any,
) -> list[AuditedStep]:
    """The hour of these `snapshots`, audited."""
    (history,) = group_histories(snapshots(members, came, consumed, seconds, **more))
    return audited_steps(history, SETTINGS, HOUR, configured)


def _sample(came: int, consumed: int) -> tuple[int, int, int]:
    return 1000 + came, 1000 + consumed, min(1000 + consumed, 1)


def twins(seconds: Sequence[int] = SECONDS) -> list[AuditedStep]:
    """8 queues with 2.5 messages a second each; twins consume the first four, the others grow by 10 a second."""
    return steps(lambda _: ["c1", "c1"], [rate(2.5)] * 8, [rate(2.5)] * 4 + [nothing] * 4, seconds)


def rate(messages: float) -> Messages:
    """So many messages a second."""
    return lambda second: round(messages * second)


def nothing(_: int) -> int:
    return 0


#: What RocketMQ's Java client sets by itself, but for its 20 threads.
DEFAULTS: dict[str, Any] = dict.fromkeys(("consume_threads", "consume_batch_size"), 1)
DEFAULTS |= {"pull_batch_size": 32, "pull_interval_ms": 0, "consume_orderly": False}


def client_row(
    seconds: float, client_id: str, statuses: Sequence[dict[str, Any]], queues: int = 4, **settings: Any
) -> dict[str, Any]:
    """A row of `client_snapshots`: a client of group g that owns so many queues of topic t."""
    owned = [{"topic": "t", "broker_name": "b", "queue_id": queue_id} for queue_id in range(queues)]
    reported = {"strategy_class": AVERAGELY, "owned_queues": owned, "consume_status": list(statuses)} | DEFAULTS
    return client(seconds, client_id, **reported | settings)


def status(minute: str, topic: str = "t") -> dict[str, Any]:
    """`response time (ms)/consumed a second/pull time (ms)/pulled a second`, `-`: unknown."""
    numbers = [None if text == "-" else float(text) for text in minute.split("/")]
    names = ("consume_rt_ms", "consume_ok_tps", "pull_rt_ms", "pull_tps")
    return {"topic": topic, "consume_failed_tps": 0.0} | dict(zip(names, numbers, strict=True))


def reported_by(client_ids: Iterable[str], threads: int, response_ms: float, **settings: Any) -> list[dict[str, Any]]:
    """Each of these reports the same, once a minute for ten minutes; its pulls take no time."""
    row = status(f"{response_ms}/10/0/10")
    return [
        client_row(second, client_id, [row], consume_threads=threads, **settings)
        for client_id in sorted(set(client_ids))
        for second in range(0, 601, 60)
    ]
