"""Cases of `expectations/backlog.py`."""

from typing import Any

from expectations.backlog import SUITE
from schemas import BACKLOG
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, alone

MEASURES = ("messages", "messages_max", "unknown_queues", "oldest_message_ms", "produced", "consumed")


def minute(start: float = 60, **changes: Any) -> Row:
    """Five wait at its end, nine waited within it."""
    waiting = {"messages": 5, "messages_max": 9, "unknown_queues": 0, "oldest_message_ms": 1500}
    return {"at": at(start)} | waiting | {"produced": 7, "consumed": 3} | changes


def row(**changes: Any) -> Row:
    key = {"step_start": at(0), "cluster": OWN, "consumer_group": "g", "topic": "t"}
    return key | {"lag_quality": "MEASURED", "minutes": [minute(), minute(120)]} | changes


good = alone(BACKLOG, row)


CASES = Cases(
    SUITE,
    breaks={
        "minutes_are_of_the_step": [
            good(minutes=[minute(-60)]),
            good(minutes=[minute(3600)]),
            good(minutes=[minute(120), minute(60)]),
            good(minutes=[minute(), minute()]),
            good(minutes=[minute(at=None)]),
        ],
        "messages_are_not_negative": [
            *(good(minutes=[minute(**{name: -1})]) for name in MEASURES if name != "messages_max"),
            good(minutes=[minute(messages=-2, messages_max=-1)]),
        ],
        "highest_is_the_highest": [
            good(minutes=[minute(messages=10)]),
            good(minutes=[minute(), minute(120, messages_max=None)]),
        ],
        "quality_is_known": [good(lag_quality="NO_READING")],
        "keys_are_unique": [{BACKLOG: [row(), row()]}],
    },
    keeps=[
        good(),
        good(minutes=[minute(0), minute(3540)]),
        good(minutes=[]),
        good(lag_quality=None, minutes=[minute(messages=None, messages_max=None, oldest_message_ms=None)]),
        good(lag_quality=None, minutes=[minute(messages=None)]),
        good(lag_quality="UNFILTERED", minutes=[minute(messages=9, produced=None, consumed=None)]),
        {BACKLOG: [row(), row(topic="t2"), row(consumer_group="h")]},
    ],
)
