"""A group whose strategy lacks a setting: which one, and what is said of queues that stand still meanwhile."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.owners_unknown import STRATEGY_UNKNOWN as RULE
from tests.support.builders import audited_step, interval, members
from tests.support.client_steps import client_history
from tests.support.tables import cells
from tests.support.times import START, micros

#: the members' strategy | what is configured | why nothing is replayed | the causes
_SETTINGS = """
    MACHINE_ROOM            | -                      | SETTINGS_MISSING  | ROOMS_MISSING
    MACHINE_ROOM_NEARBY     | -                      | SETTINGS_MISSING  | ROOM_PATTERNS_MISSING
    MACHINE_ROOM_NEARBY-AVG | broker_room            | SETTINGS_MISSING  | ROOM_PATTERNS_MISSING
    CONFIG                  | broker_room            | SETTINGS_MISSING  | QUEUE_LISTS_MISSING
    UNKNOWN                 | -                      | UNKNOWN_STRATEGY  | CUSTOM_STRATEGY
    AVG                     | -                      | NO_READABLE_QUEUE |
    AVG                     | -                      | ROOM_UNRESOLVABLE |
"""


@pytest.mark.parametrize(("strategy", "configured", "reason", "causes"), cells(_SETTINGS))
def test_the_setting_that_is_missing_is_named_once(strategy: str, configured: str, reason: str, causes: str) -> None:
    settings = StrategySettings(broker_room="^(b)" if configured == "broker_room" else None)
    unknown = replace(interval(0, 100, members("c1 c2", strategy)), reason=Reason(reason))
    step = replace(audited_step(unknown, replace(unknown, topic="%RETRY%g")), replays=Replays(settings))
    assert [(hit.cause, hit.severity, hit.start, hit.end) for hit in RULE.hits(step)] == [
        (cause, "INFO", START, micros(100)) for cause in causes.split()
    ]


def test_it_says_what_clients_report() -> None:
    unknown = replace(interval(0, 100, members("c1", "UNKNOWN")), reason=Reason.UNKNOWN_STRATEGY)
    said = client_history({"strategy_class": "com.example.RoomNearby"}, {"strategy_class": None})
    step = audited_step(unknown)
    (hit,) = RULE.hits(replace(step, history=replace(step.history, clients={"c1": said})))
    assert hit.hint == "Clients report RoomNearby."
