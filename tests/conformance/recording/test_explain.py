"""Texts of `explain` about moments of the recording, whole.

The texts in `tests/data/explained` are checked against the recording's script (moments after T0), its `connection`
lines (members and addresses, as broker-a sees them) and its `stats` lines (backlog, produced and consumed, added up by
hand).
"""

import io
import json
import re
from collections import defaultdict
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from spark_jobs.cli.commands.explain import show_explanation
from spark_jobs.cli.commands.status import show_group
from spark_jobs.cli.documents import as_json
from spark_jobs.config import strategy_settings
from spark_jobs.config.file import load
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.errors import NothingPublishedError
from spark_jobs.show.explain import GroupExplanation, explain_group
from spark_jobs.show.status import statuses
from spark_jobs.show.text.arithmetic import sizes
from spark_jobs.show.text.explanation_text import lines
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.read.published import Scope
from tests.spark.recording.conftest import CONFIGURATION
from tests.support.recordings import Published
from tests.support.tables import cells

EXPLAINED = Path(__file__).parents[2] / "data" / "explained"
#: Name of the text | group | at.
MOMENTS = """
healthy            | order-service   | 2026-11-21T02:05Z
twins              | payment-service | 2026-11-21T02:10Z
offline            | batch-export    | 2026-11-21T02:10Z
hung               | audit-service   | 2026-11-21T02:12Z
split-subscription | notify-service  | 2026-11-21T02:10Z
configured-hole    | config-service  | 2026-11-21T02:10Z
rooms              | geo-service     | 2026-11-21T02:10Z
hash-ring-twins    | tick-service    | 2026-11-21T02:12Z
broadcast          | price-cache     | 2026-11-21T02:10Z
gap                | order-service   | 2026-11-21T02:40Z
brokers-disagree   | order-service   | 2026-11-21T02:24Z
"""
AT, STEP = "2026-11-21T02:10Z", "2026-11-21T02:00Z/2026-11-21T03:00Z"


def explained(
    tables: DeltaTables, group: str, at: str, topic: str | None = None, cluster: str | None = None
) -> GroupExplanation:
    return explain_group(tables, Scope(None, cluster, group), parse_utc(at), topic)


@pytest.mark.parametrize(("name", "group", "at"), cells(MOMENTS), ids=[name for name, *_ in cells(MOMENTS)])
def test_a_moment_has_the_whole_text(tables: DeltaTables, name: str, group: str, at: str) -> None:
    file = io.StringIO()
    show_explanation(Console(file=file, width=80), lines(explained(tables, group, at)))
    assert file.getvalue() == (EXPLAINED / f"{name}.txt").read_text(encoding="utf-8")


#: Group | messages a second produced and consumed: by the first and last `stats` line of each queue, added up.
RATES = """
order-service   | 41.93 41.93
payment-service | 19.97 19.97
legacy-import   |  7.99  6.49
geo-service     |  8.99  4.99
config-service  |  3.99  3.00
tag-service     |  5.99  5.98
"""


@pytest.mark.parametrize(("group", "rates"), cells(RATES))
def test_rates_are_those_between_the_first_and_the_last_sample(tables: DeltaTables, group: str, rates: str) -> None:
    """The recording begins and ends within the step, and has gaps."""
    (status,) = statuses(tables, Scope(None, "demo", group)).groups
    shown = [status[f"{name}_messages_per_second"] for name in ("produced", "consumed")]
    assert shown == pytest.approx([*map(float, rates.split())], rel=0.01)


def test_a_retry_topic_is_explained_when_it_is_named(tables: DeltaTables) -> None:
    """Nothing was ever consumed again: there is nothing to be behind of."""
    story = explained(tables, "payment-service", AT, "%RETRY%payment-service")
    document = json.loads(as_json(asdict(story)))
    (topic,) = document["topics"]
    (view,) = topic["views"]
    assert (topic["topic"], topic["is_retry"], document["quiet_topics"]) == ("%RETRY%payment-service", True, [])
    assert (view["queues"], view["members"][0]["queues"], view["members"][1]["queues"]) == ("broker-a:0",) * 3
    assert (topic["backlog"]["first"], topic["backlog"]["last"], topic["backlog"]["unknown"]) == (0, 0, [])
    topics = {finding["topic"] for finding in document["findings"]}
    assert topics == {None, "%RETRY%payment-service"}
    assert document["at"] == "2026-11-21T02:10:00Z"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("paymentservice", AT), "there is no consumer group paymentservice: did you mean payment-service or"),
        (
            ("payment-service", AT, "zzz"),
            f"payment-service has no topic zzz in {STEP}: its topics are payments, %RETRY%payment-service",
        ),
    ],
)
def test_what_is_not_there_is_an_error_that_helps(tables: DeltaTables, asked: Any, message: str) -> None:
    with pytest.raises(NothingPublishedError, match=f"^{re.escape(message)}"):
        explained(tables, *asked)


def test_the_arithmetic_is_that_of_every_allocation(hourly: Published) -> None:
    """Of every replayed interval: what is told of a position is what the allocations give its client, but for the time
    in which clients may still have the queues of another route.
    """
    owned: dict[tuple[Any, ...], int] = defaultdict(int)
    following = set()
    for row in hourly[ALLOCATIONS]:
        if row["settled_at"] is not None:
            following.add(key(row))
        for owner in row["owners"]:
            owned[(*key(row), owner["client_id"], owner["client_addr"])] += 1
    looked_at, configuration = set(), load(CONFIGURATION)
    for row in hourly[REBALANCE_INTERVALS]:
        settings = strategy_settings(configuration, row["cluster"], row["consumer_group"])
        if row["status"] != "REPLAYED" or key(row) in following:
            continue
        queues = [MessageQueue(row["topic"], queue["broker_name"], queue["queue_id"]) for queue in row["queues"]]
        client_ids = [member["client_id"] for member in row["members"]]
        for member in row["members"]:
            share_sizes = sizes(settings.named(member["strategy"]), queues, client_ids)
            share = share_sizes[client_ids.index(member["client_id"])] if member["subscribes"] else 0
            assert owned[(*key(row), member["client_id"], member["client_addr"])] == share, row
            looked_at.add(member["strategy"])
    assert looked_at == {"AVG", "AVG_BY_CIRCLE", "CONFIG", "CONSISTENT_HASH", "MACHINE_ROOM", "MACHINE_ROOM_NEARBY-AVG"}


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("consumer_group", "topic", "membership_view", "interval_start"))


def test_the_status_of_all_groups(tables: DeltaTables) -> None:
    """In the order of their worst incidents; `legacy-import` names its root cause before its symptoms."""
    newest = statuses(tables)
    assert newest.newest_step == datetime(2026, 11, 21, 2, tzinfo=UTC)
    names = [group["consumer_group"] for group in newest.groups]
    assert names[:3] == ["legacy-import", "notify-service", "mixed-service"]
    assert names[-5:] == ["geo-service", "inventory-service", "ledger", "pop-service", "price-cache"]
    assert len(names) == 17
    assert len(statuses(tables, Scope(None, "demo", "legacy-import")).groups) == 1
    file = io.StringIO()
    show_group(Console(file=file, width=80), statuses(tables, Scope(None, None, "legacy-import")))
    assert file.getvalue().splitlines() == [
        "ERROR legacy-import (cluster demo), step 2026-11-21T02:00Z",
        "  observed        42 % of the step",
        "  incidents       ERROR open, 24 min 27 s: Producers write to queues of legacy that no consumer can read "
        "(id 2e3efaef)",
        "                  WARN open, 24 min 28 s: All consume threads of 10.31.83.1@7177#1321050796369 in "
        "legacy-import are busy (id 5aa4821f)",
        "  findings        STRANDED_WRITE_QUEUES, SLOW_LISTENER, UNOBSERVED, CONSUMER_LAGGING, FLOW_CONTROLLED, "
        "NEAR_CAPACITY",
        "  members         unknown",
        "  queues          unknown",
        "  backlog         unknown; highest ≥ 2,229 at 2026-11-21T02:26:26Z; unknown for 4 queues",
        "  oldest message  unknown",
        "  caught up       unknown",
        "  deletion        unknown",
        "  rates           8.0 messages/s produced, 6.5 messages/s consumed",
        "  utilization     unknown",
        "  more consumers? Unknown: 42 % of the step was observed. (UNKNOWN_MEMBERS)",
    ]
