"""Which strategy each member runs, and how that is known."""

from __future__ import annotations

import pytest

from spark_jobs.domain.members import (
    Resolved,
    StrategySource,
    group_source,
    known_at,
    resolve_strategies,
    strategy_named,
)
from spark_jobs.domain.snapshots import ClientSnapshot
from spark_jobs.domain.strategies import AVG, AVG_BY_CIRCLE, CONSISTENT_HASH, MACHINE_ROOM_NEARBY, Strategy
from tests.domain.histories import CLASS, at, client

AVERAGELY, CIRCLE = CLASS + "AllocateMessageQueueAveragely", CLASS + "AllocateMessageQueueAveragelyByCircle"
HASH, NEARBY = CLASS + "AllocateMessageQueueConsistentHash", CLASS + "AllocateMachineRoomNearby"
OWN = "com.example.Mine"
CLIENT, CONFIGURATION, DEFAULT = StrategySource.CLIENT, StrategySource.CONFIGURATION, StrategySource.DEFAULT
FIFTY = Strategy(AVG_BY_CIRCLE, virtual_node_cnt=50)
CONFIGURED_NEARBY = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="(.)", client_room="(.)")


@pytest.mark.parametrize(
    ("classes", "configured", "names"),
    [
        ([AVERAGELY, CIRCLE], None, [(AVG, CLIENT), (AVG_BY_CIRCLE, CLIENT)]),
        ([AVERAGELY, None], FIFTY, [(AVG, CLIENT), (AVG_BY_CIRCLE, CONFIGURATION)]),
        ([None, None], None, [(AVG, DEFAULT), (AVG, DEFAULT)]),
        (
            [None, CIRCLE, HASH, HASH],
            None,
            [(CONSISTENT_HASH, CLIENT), (AVG_BY_CIRCLE, CLIENT), *[(CONSISTENT_HASH, CLIENT)] * 2],
        ),
        ([HASH, CIRCLE, None], None, [(CONSISTENT_HASH, CLIENT), *[(AVG_BY_CIRCLE, CLIENT)] * 2]),
        (
            [OWN, None, CIRCLE],
            None,
            [(None, CONFIGURATION), (AVG_BY_CIRCLE, CLIENT), (AVG_BY_CIRCLE, CLIENT)],
        ),
        ([OWN], FIFTY, [(AVG_BY_CIRCLE, CONFIGURATION)]),
        ([NEARBY], CONFIGURED_NEARBY, [("MACHINE_ROOM_NEARBY-AVG", CONFIGURATION)]),
        ([NEARBY], FIFTY, [(MACHINE_ROOM_NEARBY, CLIENT)]),
        ([NEARBY], None, [(MACHINE_ROOM_NEARBY, CLIENT)]),
    ],
)
def test_own_class_then_configuration_then_what_others_run_then_avg(
    classes: list[str | None], configured: Strategy | None, names: list[tuple[str | None, StrategySource]]
) -> None:
    resolved = resolve_strategies(classes, configured)
    assert [(one.strategy and one.strategy.name, one.source) for one in resolved] == names


def test_the_configuration_supplies_the_settings() -> None:
    assert resolve_strategies([HASH], FIFTY)[0].strategy == Strategy(CONSISTENT_HASH, virtual_node_cnt=50)
    assert strategy_named(AVG, FIFTY) == Strategy(AVG, virtual_node_cnt=50)
    assert strategy_named(AVG, None) == Strategy(AVG)


@pytest.mark.parametrize(
    ("sources", "configured", "expected"),
    [
        ([CLIENT, CONFIGURATION, DEFAULT], FIFTY, DEFAULT),
        ([CLIENT, CONFIGURATION], FIFTY, CONFIGURATION),
        ([CLIENT, CLIENT], FIFTY, CLIENT),
        ([], FIFTY, CONFIGURATION),
        ([], None, DEFAULT),
    ],
)
def test_a_group_is_known_as_well_as_its_least_known_member(
    sources: list[StrategySource], configured: Strategy | None, expected: StrategySource
) -> None:
    assert group_source([Resolved(Strategy(AVG), source) for source in sources], configured) is expected


def test_a_client_is_what_it_last_said_else_what_it_says_first() -> None:
    early, late = client("c", 10, AVERAGELY), client("c", 20, CIRCLE)
    silent = ClientSnapshot("c", at(30), answered=False)
    answers = [late, silent, early, client("d", 0, HASH)]
    assert known_at(answers, "c", at(-100)) == early
    assert known_at(answers, "c", at(19.999)) == early
    assert known_at(answers, "c", at(20)) == late
    assert known_at(answers, "c", at(299)) == late
    assert known_at([silent], "c", at(299)) is None
