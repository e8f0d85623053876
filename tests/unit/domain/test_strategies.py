import pytest

from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.rocketmq.allocation import KeepsAllocation, shares
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    MACHINE_ROOM_NEARBY,
    POP,
    ConfigQueues,
    Strategy,
    Variant,
    strategy_of_class,
)
from spark_jobs.errors import StrategyError
from tests.support.oracle.client import allocate

QUEUES = [MessageQueue("T", "r1-a", 0), MessageQueue("T", "r2-a", 0)]
NEARBY = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^(r[0-9])?-", client_room="^(r[0-9])-")
CHECKED = [
    Strategy(AVG),
    Strategy(AVG_BY_CIRCLE),
    Strategy(CONSISTENT_HASH),
    Strategy(MACHINE_ROOM, rooms=frozenset({"r"})),
    NEARBY,
]


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_empty_inputs_keep_what_the_client_had(strategy: Strategy) -> None:
    with pytest.raises(KeepsAllocation, match=r"^currentCID is empty$"):
        allocate(strategy, "", QUEUES, ["c"])
    with pytest.raises(KeepsAllocation, match=r"^mqAll is null or mqAll empty$"):
        allocate(strategy, "c", [], ["c"])
    with pytest.raises(KeepsAllocation, match=r"^cidAll is null or cidAll empty$"):
        allocate(strategy, "c", QUEUES, [])


@pytest.mark.parametrize("strategy", CHECKED, ids=lambda strategy: strategy.name)
def test_who_is_not_listed_drops_everything(strategy: Strategy) -> None:
    assert allocate(strategy, "stranger", QUEUES, ["r1-c"]) == []


@pytest.mark.parametrize("variant", [Variant.GO, Variant.JAVA_TO_4_7_1])
def test_empty_inputs_drop_everything_in_go_and_in_java_up_to_4_7_1(variant: Variant) -> None:
    strategy = Strategy(MACHINE_ROOM, rooms=frozenset({"r"}), variant=variant)
    assert allocate(strategy, "", QUEUES, ["c"]) == []
    assert allocate(strategy, "c", [], ["c"]) == []
    assert allocate(strategy, "c", QUEUES, []) == []
    assert allocate(strategy, "stranger", QUEUES, ["c"]) == []


def test_config_gives_its_list_whatever_the_inputs() -> None:
    lists = (ConfigQueues("c", "T", "gone", (7,)), ConfigQueues("c|d", "S", "a", (0, 1)))
    strategy = Strategy(CONFIG, config_queues=lists)
    queues = [MessageQueue("T", "gone", 7), MessageQueue("S", "a", 0), MessageQueue("S", "a", 1)]
    assert allocate(strategy, "c", [], []) == queues
    assert allocate(strategy, "d", QUEUES, ["c"]) == queues[1:]


def test_config_that_was_never_configured_is_null() -> None:
    assert allocate(Strategy(CONFIG), "c", QUEUES, ["c"]) is None
    assert allocate(Strategy(CONFIG, config_queues=(ConfigQueues("c", "T", "a", ()),)), "c", QUEUES, ["c"]) == []


def test_a_room_that_cannot_be_resolved_keeps_what_the_client_had() -> None:
    with pytest.raises(KeepsAllocation, match=r"^Machine room is null for consumer id c$"):
        allocate(NEARBY, "r1-c", QUEUES, ["c", "r1-c"])
    with pytest.raises(KeepsAllocation, match=r"^Machine room is null for mq MessageQueue \[topic=T, brokerName=x"):
        allocate(NEARBY, "r1-c", [MessageQueue("T", "x-a", 0)], ["r1-c"])
    with pytest.raises(KeepsAllocation, match="brokerName=-a"):
        allocate(NEARBY, "r1-c", [MessageQueue("T", "-a", 0)], ["r1-c"])


def test_shares_are_of_positions_and_allocations_of_first_positions() -> None:
    assert shares(Strategy(AVG), QUEUES, ["c", "c"]) == [(0, 0), (1, 1)]
    assert allocate(Strategy(AVG), "c", QUEUES, ["c", "c"]) == QUEUES[:1]
    assert shares(Strategy(AVG), QUEUES, []) == []


@pytest.mark.parametrize(
    ("strategy", "missing"),
    [
        (Strategy(AVG), False),
        (Strategy(MACHINE_ROOM), True),
        (Strategy(MACHINE_ROOM, rooms=frozenset({"r"})), False),
        (Strategy(MACHINE_ROOM_NEARBY, broker_room="(.)", client_room="(.)"), True),
        (Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="(.)"), True),
        (Strategy("MACHINE_ROOM_NEARBY-AVG", client_room="(.)"), True),
        (Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="(.)", client_room="(.)"), False),
        (Strategy(CONFIG), True),
        (Strategy(CONFIG, config_queues=(ConfigQueues("c", "T", "a", (0,)),)), False),
    ],
)
def test_settings_a_strategy_needs(strategy: Strategy, missing: bool) -> None:
    assert strategy.settings_missing is missing


@pytest.mark.parametrize("name", [MACHINE_ROOM, MACHINE_ROOM_NEARBY, "MACHINE_ROOM_NEARBY-AVG", POP])
def test_what_cannot_be_replayed_says_so(name: str) -> None:
    with pytest.raises(StrategyError, match=name):
        allocate(Strategy(name), "c", QUEUES, ["c"])


def test_settings_no_client_could_start_with() -> None:
    with pytest.raises(StrategyError, match="illegal virtualNodeCnt :-1"):
        Strategy(CONSISTENT_HASH, virtual_node_cnt=-1)
    with pytest.raises(StrategyError, match="unknown strategy 'AVERAGE': choose one of AVG, "):
        Strategy("AVERAGE")
    with pytest.raises(StrategyError, match="exactly one group"):
        Strategy(AVG, broker_room="r-(a)(b)")
    with pytest.raises(StrategyError, match="exactly one group"):
        Strategy(AVG, client_room="r")
    with pytest.raises(StrategyError, match="not a regular expression"):
        Strategy(CONFIG, config_queues=(ConfigQueues("(", "T", "a", (0,)),))


@pytest.mark.parametrize(
    ("class_name", "name"),
    [
        ("org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely", AVG),
        ("com.alibaba.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle", AVG_BY_CIRCLE),
        ("AllocateMessageQueueByConfig", CONFIG),
        ("a.AllocateMessageQueueByMachineRoom", MACHINE_ROOM),
        ("a.AllocateMessageQueueConsistentHash", CONSISTENT_HASH),
        ("a.AllocateMachineRoomNearby", MACHINE_ROOM_NEARBY),
        ("com.example.Mine", None),
    ],
)
def test_java_classes_have_strategy_names(class_name: str, name: str | None) -> None:
    assert strategy_of_class(class_name) == name
