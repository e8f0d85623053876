"""ORDERLY_LOCK_MISSING on the hour of `client_groups`."""

from typing import Any

import pytest

from schemas import ROUTE_SNAPSHOTS
from spark_jobs.domain.rules.orderly_lock_missing import RULE
from tests.support.builders import span
from tests.support.client_groups import held, hits_of
from tests.support.client_steps import recorded_step, replayed
from tests.support.findings import rule_hit
from tests.support.snapshots import client, offsets, route
from tests.support.times import micros


def test_a_hit_is_a_span_and_a_queue_and_as_bad_as_the_harm() -> None:
    about = {"topic": "unlocked", "client_id": "c1", "implicated": "c1"}
    assert hits_of(RULE, "unlocked") == [
        rule_hit(200, 240, "NOT_LOCKED", f"unlocked b:{number} UNLOCKED", **about) for number in (0, 1)
    ]


def without_master(
    ids: str, *, away: range, stands: range, waiting: int = 500, orderly: bool | None = True
) -> list[str]:
    """`200-400 NO_MASTER`: the hits of queue 0, whose broker has these ids in the route while its master is `away`;
    its offset moves by one a second, but not in the seconds of `stands`.
    """
    rounds = range(0, 640, 20)
    routes, read, clients = [], [], []
    for second in rounds:
        served = ids.split() if second in away else ["0", "1"]
        routes.append(route(second, 1) | {"addresses": [("b", int(one), f"h:{one}") for one in served]})
        consumed = 1000 + second - len([moment for moment in stands if moment <= second])
        read.append(offsets(second, (consumed + waiting, consumed, 1)))
        owned = [held("t", 0, second, {})]
        clients.append(client(second, consume_orderly=orderly, message_model="CLUSTERING", owned_queues=owned))
    shares = replayed("t", -100, 660, {"c1": [0]}, 1)
    step = recorded_step(clients, shares, read=read, more={ROUTE_SNAPSHOTS: routes})
    return [f"{span(hit)} {hit.cause}" for hit in RULE.hits(step)]


def test_a_broker_without_a_master_gives_no_locks() -> None:
    """Locks of before are good for 30 s."""
    assert without_master("1", away=range(200, 400), stands=range(225, 410)) == ["230-400 NO_MASTER"]
    assert without_master("1", away=range(200, 700), stands=range(225, 700)) == ["230-660 NO_MASTER"]


@pytest.mark.parametrize(
    "differs",
    [
        {"ids": "0 1"},
        {"ids": "0"},
        {"ids": ""},
        {"stands": range(0)},
        {"stands": range(300, 410)},
        {"waiting": 0},
        {"orderly": False},
        {"orderly": None},
        {"away": range(200, 220)},
    ],
)
def test_what_consumes_or_has_nothing_to_consume_or_needs_no_lock_waits_for_no_master(differs: dict[str, Any]) -> None:
    life: dict[str, Any] = {"ids": "1", "away": range(200, 400), "stands": range(225, 410)}
    assert without_master(**life | differs) == []


def locked_at(ages: list[int | None], *, orderly: bool = True, ids: str = "0 1", consumed: int = 0) -> list[str]:
    """The hits of a client that calls its queue locked, and renewed the lock so many seconds before each snapshot;
    it consumed at last so many seconds after that.
    """
    routes, clients = [], []
    for number, age in enumerate(ages):
        second = 20 * number
        routes.append(route(second, 1) | {"addresses": [("b", int(one), f"h:{one}") for one in ids.split()]})
        last_lock = None if age is None else micros(second - age) // 1000
        last_consume = None if last_lock is None else last_lock + 1000 * consumed
        owned = [held("t", 0, second, {"last_lock": last_lock, "last_consume": last_consume})]
        clients.append(client(second, consume_orderly=orderly, message_model="CLUSTERING", owned_queues=owned))
    step = recorded_step(clients, read=[offsets(0, (9, 9, 1))], more={ROUTE_SNAPSHOTS: routes})
    return [f"{span(hit)} {hit.cause}" for hit in RULE.hits(step)]


def test_a_lock_that_is_not_renewed_for_30_s_is_none() -> None:
    assert locked_at([5, 15, 31, 51, 71, 5]) == ["40-100 NOT_LOCKED"]
    assert locked_at([5, 15, 31, 51, 71, 5], ids="1") == ["40-100 NO_MASTER"]
    assert locked_at([5, 15, 31, 51, 71, 5], orderly=False) == []
    assert locked_at([5, 20, 30, 20, 30, 5]) == []
    assert locked_at([None] * 6) == []


def test_a_client_that_consumes_after_30_s_renews_its_lock_without_noting_it() -> None:
    assert locked_at([5, 35, 55, 75, 95, 5], consumed=31) == []
    assert locked_at([5, 35, 55, 75, 95, 5], consumed=30) == ["20-100 NOT_LOCKED"]
