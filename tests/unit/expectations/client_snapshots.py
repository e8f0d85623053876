"""Cases of `expectations/client_snapshots.py`."""

from datetime import UTC, datetime
from typing import Any

from expectations.client_snapshots import SUITE
from schemas import CLIENT_SNAPSHOTS
from tests.support.snapshots import membership
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, alone, at_the_edge, of_every_source

KEY = {"cluster": OWN, "consumer_group": "g", "client_id": "c1", "captured_at": at(0)}
SUBSCRIPTION = membership(0, "c1")["subscriptions"][0]


def queue(**changes: Any) -> Row:
    counts = {"cached_count": 5, "cached_mib": 1, "cached_min_offset": 90, "cached_max_offset": 95}
    times = {"commit_offset": 90, "last_pull": 1, "last_consume": 1, "last_lock": 1}
    return (
        {"topic": "t", "broker_name": "b", "queue_id": 0, "locked": False, "dropped": False} | counts | times | changes
    )


def rates(**changes: Any) -> Row:
    consumed = {"consume_rt_ms": 1.5, "consume_ok_tps": 2.0, "consume_failed_tps": 0.0}
    return {"topic": "t", "pull_rt_ms": 0.5, "pull_tps": 2.0} | consumed | changes


ANSWER: Row = (
    {"answered": True, "in_group": True, "strategy_class": "AllocateMessageQueueAveragely"}
    | {"message_model": "CLUSTERING", "consume_orderly": False, "client_rebalance": True}
    | {"started_at": at(-600), "consume_threads": 20, "consume_batch_size": 1, "pull_batch_size": 32}
    | {"pull_interval_ms": 200, "pull_threshold_for_queue": 200, "pull_threshold_size_for_queue": 100}
    | {"consume_max_span": 2000, "consume_timeout_minutes": 15, "subscriptions": [SUBSCRIPTION]}
    | {"owned_queues": [queue()], "consume_status": [rates()]}
)
_LIMITS = ("pull_threshold_for_queue", "pull_threshold_size_for_queue", "consume_max_span")
FROM_1 = ("consume_batch_size", "pull_batch_size", *_LIMITS)
SILENCE: Row = dict.fromkeys(ANSWER) | {"answered": False}


good = alone(CLIENT_SNAPSHOTS, lambda **changes: KEY | ANSWER | changes)
silent = alone(CLIENT_SNAPSHOTS, lambda **changes: KEY | SILENCE | changes)


CASES = Cases(
    SUITE,
    breaks={
        **of_every_source(good, "cluster", "consumer_group", "client_id"),
        "answered_is_known": [silent(answered=None)],
        "who_did_not_answer_says_nothing": [
            silent(**{name: value}) for name, value in ANSWER.items() if name != "answered"
        ],
        "message_model_is_known": [good(message_model=model) for model in ("", "POP")],
        "threads_are_1_to_65535": [good(consume_threads=threads) for threads in (0, -1, 65536, 2**31 - 1)],
        "settings_are_possible": [
            *(good(**{name: number}) for name in FROM_1 for number in (0, -1, -(2**31))),
            *(good(pull_interval_ms=number) for number in (-1, -(2**31))),
            good(**dict.fromkeys(FROM_1), pull_interval_ms=-1),
            good(**dict.fromkeys(FROM_1) | {"pull_interval_ms": None, "consume_max_span": 0}),
        ],
        "subscriptions_have_no_null": [good(subscriptions=[None]), good(subscriptions=[SUBSCRIPTION, None])],
        "subscribed_topics_are_names": [
            good(subscriptions=[SUBSCRIPTION | {"topic": name}]) for name in (None, "", "t" * 256)
        ],
        "owned_queues_have_no_null": [good(owned_queues=[None]), good(owned_queues=[queue(), None])],
        "consume_status_have_no_null": [good(consume_status=[None]), good(consume_status=[rates(), None])],
        "owned_queues_are_named": [
            good(owned_queues=[queue(**{name: value})])
            for name, values in {"topic": (None,), "broker_name": (None, ""), "queue_id": (None, -1, 65536)}.items()
            for value in values
        ],
        "caches_are_not_negative": [
            good(owned_queues=[queue(cached_count=-1)]),
            good(owned_queues=[queue(), queue(queue_id=1, cached_count=None, cached_mib=-1)]),
        ],
        "cached_offsets_are_possible": [
            good(owned_queues=[queue(cached_min_offset=-1)]),
            good(owned_queues=[queue(cached_max_offset=10**15 + 1)]),
            good(owned_queues=[queue(cached_min_offset=-(2**63), cached_max_offset=2**63 - 1)]),
        ],
        "times_are_possible": [
            good(owned_queues=[queue(**{name: time})])
            for name in ("last_pull", "last_consume")
            for time in (-1, 253402300800000, -(2**63))
        ],
        "rates_are_possible": [
            good(consume_status=[rates(**{name: value})])
            for name in rates()
            if name != "topic"
            for value in (-0.1, 2e15, float("nan"), float("inf"), float("-inf"))
        ],
        "keys_are_unique": [
            {CLIENT_SNAPSHOTS: [KEY | ANSWER, KEY | ANSWER]},
            {CLIENT_SNAPSHOTS: [KEY | ANSWER, KEY | SILENCE]},
        ],
    },
    keeps=[
        good(),
        silent(),
        *at_the_edge(good, "cluster", "consumer_group", "client_id"),
        good(**(SILENCE | {"answered": True})),
        good(message_model="BROADCASTING", consume_threads=1),
        *(good(started_at=datetime(*day, tzinfo=UTC)) for day in ((1, 1, 2), (9999, 12, 30))),
        *(good(**{name: value}) for name in ("consume_orderly", "client_rebalance") for value in (None, False, True)),
        good(in_group=False, consume_timeout_minutes=-1, strategy_class=None),
        good(consume_threads=65535),
        good(**dict.fromkeys(FROM_1, 1), pull_interval_ms=0),
        good(**dict.fromkeys((*FROM_1, "pull_interval_ms"), 2**31 - 1)),
        *(good(**{name: None}) for name in (*FROM_1, "pull_interval_ms")),
        good(subscriptions=[SUBSCRIPTION | {"topic": "t" * 255}]),
        good(subscriptions=[], owned_queues=[], consume_status=[]),
        good(owned_queues=[queue(queue_id=65535, cached_count=0, cached_mib=0)]),
        good(owned_queues=[queue(cached_count=None, cached_mib=None)]),
        good(owned_queues=[queue(cached_min_offset=0, cached_max_offset=10**15, commit_offset=-1)]),
        good(owned_queues=[queue(last_pull=0, last_consume=253402300799999)]),
        good(consume_status=[rates(consume_rt_ms=0.0, pull_tps=None)]),
        {CLIENT_SNAPSHOTS: [KEY | ANSWER, KEY | ANSWER | {"client_id": "c2"}, KEY | ANSWER | {"captured_at": at(1)}]},
    ],
)
