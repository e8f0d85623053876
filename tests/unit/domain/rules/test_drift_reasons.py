"""The inputs from which drifting clients have their queues, on hand-written intervals of AVG."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.kernel.ownership import Replays
from spark_jobs.domain.model.clients import DriftCause
from spark_jobs.domain.model.history import GroupHistory, Place, ServerRoutes
from spark_jobs.domain.model.message_queue import PERM_READ, RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.drift_reasons import explained
from spark_jobs.domain.rules.drifts import Drift
from tests.support.client_steps import client_history, replayed, step_with
from tests.support.kernel import series_of
from tests.support.times import micros

#: By AVG: three members of six queues.
SIX = replayed("t", 300, 600, {"c1": [0, 1], "c2": [2, 3], "c3": [4, 5]}, 6)


def _explained(
    held: dict[str, list[int]],
    *route_before: RouteEntry,
    servers: ServerRoutes | None = None,
    interval: RebalanceInterval = SIX,
    orderly: Mapping[str, bool] | None = None,
) -> str | None:
    """Why these clients hold these queues of broker `b` since 300 s, instead of those of the interval. `servers`: what
    each name server says at 400 s; `orderly`: whether clients consume in order.
    """
    clients = {name: client_history({"consume_orderly": each}) for name, each in (orderly or {}).items()}
    server_routes = {"t": series_of([(micros(400), servers)])} if servers else {}
    history = GroupHistory("c", "g", clients=clients, server_routes=server_routes)
    step = replace(step_with(history, [interval]), replays=Replays(StrategySettings()))
    if route_before:
        step = replace(step, routes={"t": [Span(0, micros(300), 0, route_before)]})
    less: dict[DriftCause, frozenset[Place]] = {DriftCause.HOLDS_LESS: frozenset()}
    times = micros(350), micros(600)
    drifts = [
        Drift(*times, client_id, "t", frozenset(("b", queue_id) for queue_id in queue_ids), less, interval, times[1])
        for client_id, queue_ids in held.items()
    ]
    return explained(step, drifts)


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"c3": [3, 4, 5]}, "c3 shares the queues as if c1 were not a member or as if c2 were not a member."),
        ({"c1": [0, 1, 2], "c2": [3, 4, 5]}, "c1, c2 share the queues as if c3 were not a member."),
        ({"c2": [0, 1, 2, 3, 4, 5]}, "c2 shares the queues as if c1, c3 were not members."),
    ],
)
def test_other_members_give_the_lists(held: dict[str, list[int]], words: str) -> None:
    assert (_explained(held) or "").startswith(words)


def test_an_earlier_route_gives_the_lists_of_all() -> None:
    """Of three queues everybody has one."""
    text = _explained({"c1": [0], "c2": [1], "c3": [2]}, RouteEntry("b", PERM_READ, 3, 3))
    expected = "All members share the queues by the route of before 2026-03-01T10:05Z, without b:3-5."
    assert (text or "").startswith(expected)


@pytest.mark.parametrize(("queues", "is_named"), [(3, True), (6, False), (2, False)])
def test_a_name_server_with_another_route_is_named_before_all_else(queues: int, is_named: bool) -> None:
    """Of three queues everybody has one. One name server has all six, the other so many."""
    whole, other = (RouteEntry("b", PERM_READ, count, count) for count in (6, queues))
    text = _explained({"c1": [0], "c2": [1], "c3": [2]}, servers=(("n1:9876", (whole,)), ("n2:9876", (other,)))) or ""
    named = "All members share the queues by the route of name server n2:9876, without b:3-5. Name server n2:9876"
    assert text.startswith(named) == is_named
    assert "n1" not in text


def test_lists_that_follow_from_no_such_inputs_have_no_explanation() -> None:
    assert _explained({"c2": [2]}) is None
    assert _explained({"c1": [0, 1, 2], "c3": [4]}) is None


@pytest.mark.parametrize(
    ("languages", "is_named"),
    [("JAVA GO JAVA", True), ("JAVA GO GO", False), ("GO GO GO", False), ("JAVA JAVA GO", False)],
)
def test_a_language_that_only_these_clients_have_may_be_the_reason(languages: str, is_named: bool) -> None:
    """Of `c2`, whose list follows from no inputs."""
    members = tuple(
        member._replace(language=language)
        for member, language in zip(SIX.members or (), languages.split(), strict=True)
    )
    text = _explained({"c2": [2]}, interval=replace(SIX, members=members)) or ""
    assert text.startswith("All of them are GO clients, and no other member is") == is_named


@pytest.mark.parametrize(
    ("is_orderly", "words"),
    [
        ([True, True, True], "do not get the brokers' locks: look in their logs for `lock failed`"),
        ([True, True, False], "do not get the list of members: look in their logs for `get consumer id list failed`"),
    ],
)
def test_who_holds_nothing_lacks_locks_or_the_list_of_members(is_orderly: list[bool], words: str) -> None:
    orderly = {f"c{number}": each for number, each in enumerate(is_orderly, start=1)}
    assert words in (_explained({client_id: [] for client_id in orderly}, orderly=orderly) or "")
