"""What rows of queue_progress make the rules of progress find, worked out by hand: many rows, one look at each rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from schemas import QUEUE_PROGRESS, TOPIC_SNAPSHOTS
from schemas.common import CLIENT_ADDR, CLIENT_ID
from schemas.table import array_of
from spark_jobs.config import Configuration
from spark_jobs.domain.intervals import Interval
from spark_jobs.findings import consumer_progress, offset_rewound, producer_skew, retention_risk
from spark_jobs.findings.rule import Rule
from spark_jobs.replay.steps import StepWindow
from tests.snapshots import DAY, at

#: A step of one hour, snapshots every 20 s; 20 s to agree.
WINDOW = StepWindow(Interval(at(0), at(3600)), timedelta(hours=1), timedelta(seconds=210), timedelta(seconds=270))
_OWNED = StructType().add("owners", array_of(CLIENT_ID, CLIENT_ADDR)).add("double_owned_cause", "string")
_PROGRESS = StructType([*QUEUE_PROGRESS.schema.fields, *_OWNED.fields])

#: interval | rewound at | how often, together, at most | twins | finding
_REWINDS = """
    0-3600   | 20   | 1 65 65 | no  | 20-40 RESET
    0-3600   | 3590 | 1 65 65 | no  | 3590-3600 RESET
    100-3600 | 140  | 1 65 65 | no  | 140-160 HAND_OVER
    100-3600 | 141  | 1 65 65 | no  | 141-161 RESET
    0-500    | 460  | 1 65 65 | no  | 460-480 HAND_OVER
    0-500    | 459  | 1 65 65 | no  | 459-479 RESET
    0-500    | 490  | 1 65 65 | no  | 490-500 HAND_OVER
    0-500    | 490  | 1 65 65 | yes | 490-500 TWINS
    100-3600 | 300  | 2 80 40 | no  |
    100-3600 | -    | 0 - -   | no  |
"""


def row(group: str, start: int, end: int, **said: Any) -> dict[str, Any]:
    """Queue 0 of broker b, which c1 owns, unless said otherwise."""
    known = dict.fromkeys(_PROGRESS.names) | {
        "step_start": at(0),
        "cluster": "c",
        "consumer_group": group,
        "topic": "t",
        "membership_view": "*",
        "interval_start": at(start),
        "interval_end": at(end),
        "broker_name": "b",
        "queue_id": 0,
        "readings": 2,
        "lag_quality": "MEASURED",
        "owners": [("c1", "addr")],
    }
    return known | said


def found(
    spark: SparkSession, rule: Rule, progress: Iterable[dict[str, Any]], oldest: Iterable[tuple[Any, ...]] = ()
) -> list[dict[str, Any]]:
    """The rule's touches, in the order of groups and queues; `oldest`: rows of topic_snapshots."""
    fields = [field for field in TOPIC_SNAPSHOTS.schema if field.name in TOPIC_SNAPSHOTS.columns]
    audited: Any = SimpleNamespace(
        progress=spark.createDataFrame([tuple(one[name] for name in _PROGRESS.names) for one in progress], _PROGRESS),
        sources=SimpleNamespace(topics=spark.createDataFrame(list(oldest), StructType(fields))),
        configuration=Configuration(),
        window=WINDOW,
    )
    order = ("consumer_group", "queue.queue_id", "blamed")
    return [one.asDict(recursive=True) for one in rule.touches(audited).orderBy(*order).collect()]


def span(touch: dict[str, Any]) -> str:
    start, end = (int((touch[name] - DAY.replace(tzinfo=None)).total_seconds()) for name in ("start", "end"))
    return f"{start}-{end}"


def measures(touch: dict[str, Any]) -> dict[str, float | None]:
    return {one["name"]: one["value"] for one in touch["measures"]}


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


def test_offsets_that_went_back(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = []
    by_hand: dict[str, str] = {}
    for number, line in enumerate(_REWINDS.strip().splitlines()):
        interval, moment, counts, twins, finding = (cell.strip() for cell in line.split("|"))
        rewinds, rewound, greatest = map(_number, counts.split())
        start, end = map(int, interval.split("-"))
        rows.append(
            row(
                f"g{number}",
                start,
                end,
                rewinds=rewinds,
                rewound=rewound,
                rewound_max=greatest,
                rewound_at=None if moment == "-" else at(int(moment)),
                double_owned_cause="DUPLICATE_CLIENT_ID" if twins == "yes" else None,
            )
        )
        by_hand |= {f"g{number}": finding} if finding else {}
    touches = found(spark, offset_rewound.RULE, rows)
    assert {one["consumer_group"]: f"{span(one)} {one['cause']}" for one in touches} == by_hand
    # At once, and the queue that went back furthest speaks for all.
    assert {(one["patience"], one["weight"], one["blamed"]) for one in touches} == {(0, 65, "c1")}


def test_consumers_that_do_not_get_on(spark: SparkSession) -> None:
    twins, two = [("c1", "a"), ("c1", "b")], [("c1", "a"), ("c2", "b")]
    lag = {"lag_first": 100, "lag_last": 400, "age_ms": 7}
    rows = [
        row("stopped", 100, 3600, verdict="STOP", moved_at=at(200), **lag),
        row("stalled", 100, 3600, verdict="STALL", owners=twins, **lag),
        row("lagging", 100, 3600, verdict="WARN", owners=two, **lag),
        row("nobody's", 100, 3600, verdict="STALL", owners=[], **lag),
        row("fine", 100, 3600, verdict="OK", **lag),
        row("back", 100, 3600, verdict="REWIND", **lag),
    ]
    rules = (consumer_progress.STOPPED_RULE, consumer_progress.STALLED_RULE, consumer_progress.LAGGING_RULE)
    touches = [one for rule in rules for one in found(spark, rule, rows)]
    assert [(one["consumer_group"], one["rule"], one["severity"], span(one), one["blamed"]) for one in touches] == [
        ("stopped", "CONSUMER_STOPPED", "ERROR", "200-3600", "c1"),
        ("stalled", "CONSUMER_STALLED", "ERROR", "100-3600", "c1"),
        ("lagging", "CONSUMER_LAGGING", "WARN", "100-3600", "c1"),
        ("lagging", "CONSUMER_LAGGING", "WARN", "100-3600", "c2"),
    ]
    # For two minutes at least; the queue with the greatest lag speaks for all.
    assert {(one["patience"], one["weight"]) for one in touches} == {(120, 400)}
    assert all(measures(one) == {"lag_first": 100, "lag_last": 400, "age_ms": 7} for one in touches)


def test_queues_that_get_more_than_others(spark: SparkSession) -> None:
    def queues(group: str, *produced: int | None, topic: str = "t") -> Iterator[dict[str, Any]]:
        for number, messages in enumerate(produced):
            yield row(group, 200, 3600, topic=topic, queue_id=number, produced=messages)

    rows = [
        # Twice the mean of 300: 400 in one interval, 200 in another.
        *queues("twice", 400, 200, 200, 200),
        row("twice", 0, 200, produced=200),
        *queues("almost twice", 599, 201, 200, 200),
        *queues("too few to say", 396, 0, 0, 0),
        *queues("just enough", 400, 0, 0, 0),
        *queues("retries", 400, 0, 0, 0, topic="%RETRY%retries"),
        *queues("unknown", 400, 200, None, None),
    ]
    touches = found(spark, producer_skew.RULE, rows)
    assert [(one["consumer_group"], one["queue"]["queue_id"], span(one), one["weight"]) for one in touches] == [
        ("just enough", 0, "200-3600", 400),
        ("twice", 0, "0-3600", 600),
    ]
    assert measures(touches[1]) == {"max_over_mean": 2, "mean": 300, "produced_max": 600}


#: lag, consumer offset | finding; half a message a second is consumed, one is deleted, 6000 is the oldest at 1000 s
_RETENTION = """
    33 5999  | 0-1100 LOST
    32 5999  |
    33 6000  | 0-1100 EXPIRING
    33 16800 | 0-1100 EXPIRING
    33 16801 |
"""


def test_messages_that_wait_for_too_long(spark: SparkSession) -> None:
    rows: list[dict[str, Any]] = []
    by_hand: dict[str, str] = {}
    said: dict[str, Any] = {"consumed": 500, "produced": 2000, "last_reading_at": at(1000)}
    for number, line in enumerate(_RETENTION.strip().splitlines()):
        offsets, _, finding = line.partition("|")
        lag, consumer_offset = map(int, offsets.split())
        rows.append(row(f"g{number}", 0, 1100, lag_last=lag, consumer_offset=consumer_offset, **said))
        by_hand |= {f"g{number}": finding.strip()} if finding.strip() else {}
    # Looked at from the start on; what is seen after the reading is not yet known to it.
    looks = [(0, 5000), (500, 5900), (1000, 6000), (1020, 9000)]
    oldest = [("c", "t", at(second), [("b", 0, minimum, 99_999)]) for second, minimum in looks]
    touches = found(spark, retention_risk.RULE, rows, oldest)
    assert {one["consumer_group"]: f"{span(one)} {one['cause']}" for one in touches} == by_hand
    lost, expiring, later = touches
    assert (lost["severity"], lost["patience"], lost["weight"]) == ("ERROR", None, 1)
    assert (expiring["severity"], expiring["patience"], expiring["weight"]) == ("WARN", 120, 0)
    assert measures(later) == {
        "consumer_offset": 16_800,
        "min_offset": 6000,
        "deleted_per_second": 1,
        "consumed_per_second": 0.5,
    }
