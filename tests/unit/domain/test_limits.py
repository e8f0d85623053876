"""Which findings stand for what held a queue back: those about it or its owner, at the time when its backlog grew."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.status.backlog import queue_intervals
from spark_jobs.domain.status.capacity import HeldBack, Limit
from spark_jobs.domain.status.limits import held_back
from tests.support import findings as builder
from tests.support.builders import audited_step, replayed
from tests.support.client_steps import client_history
from tests.support.samples import measured, offsets

PLACES: list[Place] = [("b", 0), ("b", 1)]
OWNED = dict(zip(PLACES, [(0,), (1,)], strict=True))
NOBODYS = dict.fromkeys(PLACES, ())
#: Two queues of `A` and `B`, each with 900 messages at 200 s that were not there at 100 s.
READ = {0: ["10/10"] * 2, 100: ["10/10"] * 2, 200: ["910/10"] * 2, 300: ["910/910"] * 2}


def finding(
    rule: str,
    cause: str = "-",
    severity: str = "ERROR",
    begin: float = 0,
    end: float = 3600,
    topic: str | None = None,
    queue: int | None = None,
    client_ids: str = "",
    persistence: str | None = None,
) -> Finding:
    queues = [] if queue is None else [("t", "b", queue, "R")]
    made = builder.finding("id", rule, begin, end, cause, severity, topic, client_ids=client_ids.split(), queues=queues)
    return made._replace(evidence=made.evidence._replace(persistence=persistence))


def held(
    *findings: Finding,
    intervals: list[RebalanceInterval] | None = None,
    lag: int | None = 900,
    other: int = 0,
    read: dict[int, list[str]] = READ,
    clients: dict[str, ClientHistory] | None = None,
) -> dict[Limit, HeldBack]:
    intervals = intervals or [replayed(0, 3600, OWNED)]
    lags = [[lag, other, *[0] * (len(interval.measured) - 2)] for interval in intervals]
    rows = [measured(interval, lag_last=of, lag_max=of) for interval, of in zip(intervals, lags, strict=True)]
    step = audited_step(*intervals, progress=rows, offsets={"t": offsets(PLACES, read)})
    step = replace(step, history=replace(step.history, clients=clients or {}))
    queues = queue_intervals(rows)
    return {limit_held.limit: limit_held for limit_held in held_back(step, queues, queues.unknown(), findings)}


def without_owners(reason: Reason) -> RebalanceInterval:
    return replace(replayed(0, 3600, NOBODYS), allocation=None, queues=tuple(PLACES), reason=reason)


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        (finding("CLIENT_HUNG", queue=0), "STUCK_CONSUMER"),
        (finding("CLIENT_HUNG", queue=1), "MEMBERS"),
        (finding("CLIENT_HUNG", queue=0, client_ids="B"), "STUCK_CONSUMER"),
        (finding("SLOW_LISTENER", client_ids="A"), "LISTENER"),
        (finding("SLOW_LISTENER", client_ids="B"), "MEMBERS"),
        (finding("MIXED_STRATEGIES"), "ALLOCATION"),
        (finding("MIXED_STRATEGIES", topic="t"), "ALLOCATION"),
        (finding("MIXED_STRATEGIES", topic="u"), "MEMBERS"),
        (finding("MIXED_STRATEGIES", severity="INFO"), "MEMBERS"),
        (finding("UNASSIGNED_QUEUE", "MIXED_CLIENTS", queue=0), "ALLOCATION"),
        (finding("UNASSIGNED_QUEUE", "MACHINE_ROOM_BUG", queue=0), "ALLOCATION"),
        (finding("DUPLICATE_CLIENT_ID", persistence="PERSISTENT"), "DUPLICATE_IDS"),
        (finding("DUPLICATE_CLIENT_ID", persistence="TRANSIENT"), "MEMBERS"),
        (finding("SUBSCRIPTION_MISMATCH", "DIFFERENT_TOPICS"), "SUBSCRIPTIONS"),
        # Other expressions filter other messages: that keeps nobody from consuming.
        (finding("SUBSCRIPTION_MISMATCH", "DIFFERENT_EXPRESSIONS"), "MEMBERS"),
        (finding("PRODUCER_SKEW", "HOT_QUEUES"), "PRODUCER_SKEW"),
        # A broker that gets nothing holds nobody up.
        (finding("PRODUCER_SKEW", "BROKER_WITHOUT_MESSAGES"), "MEMBERS"),
        (finding("IDLE_CONSUMER"), "MEMBERS"),
        (finding("BROKER_NOT_READABLE", "NOT_REACHED", queue=0), "UNREACHABLE_BROKER"),
        (finding("BROKER_NOT_READABLE", "LEFT_ROUTE", queue=0), "UNREADABLE_QUEUES"),
        (finding("ALLOCATION_DRIFT", "HOLDS_LESS", queue=0), "ALLOCATION_DRIFT"),
        (finding("ALLOCATION_DRIFT", "HOLDS_MORE", queue=0), "MEMBERS"),
        (finding("ORDERLY_LOCK_MISSING", "NOT_LOCKED", queue=0), "ORDERLY_LOCKS"),
        (finding("ORDERLY_LOCK_MISSING", "NO_MASTER", queue=0), "NO_MASTER"),
        (finding("MEMBERSHIP_VIEW_SPLIT", topic="t"), "VIEWS_DISAGREE"),
        (finding("MEMBERSHIP_VIEW_SPLIT", topic="u"), "MEMBERS"),
        # Its queues are those of the retry topic, but its clients consume all of theirs more than once.
        (finding("CONSUME_FAILING", "TIMED_OUT", queue=7, client_ids="A"), "TIMED_OUT"),
        (finding("CONSUME_FAILING", "TIMED_OUT", queue=7, client_ids="B"), "MEMBERS"),
        # The backlog grew from 100 s to 200 s.
        (finding("MIXED_STRATEGIES", end=100), "MEMBERS"),
        (finding("MIXED_STRATEGIES", end=101), "ALLOCATION"),
        (finding("MIXED_STRATEGIES", begin=199), "ALLOCATION"),
        (finding("MIXED_STRATEGIES", begin=200), "MEMBERS"),
    ],
)
def test_a_finding_about_the_queue_or_its_owner_at_that_time(found: Finding, limit: str) -> None:
    # Three queues for two members: with one for each of them, it would be QUEUES and not MEMBERS.
    (only,) = held(found, intervals=[replayed(0, 3600, OWNED | {("b", 2): (0,)})]).values()
    # 900 messages for 100 s.
    assert only[:6] == (Limit(limit), 1, 900, 90_000_000, 3, 2)


@pytest.mark.parametrize(
    ("reason", "found", "limit"),
    [
        (Reason.UNKNOWN_STRATEGY, (), "UNKNOWN_OWNERS"),
        # How many queues a member has, and so what another one would have, is not known.
        (Reason.UNKNOWN_STRATEGY, ("FLOW_CONTROLLED",), "UNKNOWN_OWNERS"),
        (Reason.UNKNOWN_STRATEGY, ("CONSUMER_STALLED",), "STUCK_CONSUMER"),
        (Reason.BROKER_REBALANCE, (), "UNKNOWN_OWNERS"),
        (Reason.BROKER_REBALANCE, ("CONSUMER_STALLED",), "UNKNOWN_OWNERS"),
        (Reason.CONSUMED_BY_UNSEEN, (), "UNKNOWN_MEMBERS"),
        # Whether there is any consumer is not known either.
        (Reason.CONSUMED_BY_UNSEEN, ("CONSUMER_STALLED",), "UNKNOWN_MEMBERS"),
    ],
)
def test_where_owners_are_not_known(reason: Reason, found: tuple[str, ...], limit: str) -> None:
    """Queue 0 has a backlog; a finding about it says no owner."""
    assert list(held(*(finding(rule, queue=0) for rule in found), intervals=[without_owners(reason)])) == [limit]


@pytest.mark.parametrize(("cause", "limit"), [("NO_MASTER", "NO_MASTER"), ("NOT_LOCKED", "ORDERLY_LOCKS")])
def test_who_waits_for_a_lock_is_not_stuck(cause: str, limit: str) -> None:
    lock = finding("ORDERLY_LOCK_MISSING", cause, queue=0)._replace(finding_id="lock")
    stopped = finding("CONSUMER_STOPPED", queue=0)._replace(root_finding_id="lock")
    assert (list(held(lock, stopped)), list(held(stopped))) == ([limit], ["STUCK_CONSUMER"])


@pytest.mark.parametrize(
    ("root", "limit"), [("rewind", "REWOUND"), ("other", "ALLOCATION_DRIFT"), (None, "ALLOCATION_DRIFT")]
)
def test_what_follows_from_a_rewind_is_no_load(root: str | None, limit: str) -> None:
    rewind = finding("OFFSET_REWOUND", "RESET", "WARN", queue=0)._replace(finding_id="rewind")
    drift = finding("ALLOCATION_DRIFT", "HOLDS_LESS", queue=0)._replace(root_finding_id=root)
    assert list(held(rewind, drift)) == [limit]


@pytest.mark.parametrize(
    ("found", "limit"),
    [
        ([finding("SLOW_LISTENER", client_ids="A"), finding("SLOW_LISTENER", client_ids="B")], "POP_MEMBERS"),
        ([finding("SLOW_LISTENER", client_ids="A")], "UNKNOWN_OWNERS"),
        ([finding("CLIENT_HUNG", client_ids="A B")], "STUCK_CONSUMER"),
        # The queue is that of the retry topic.
        ([finding("POP_REDELIVERING", topic="t", queue=7)], "REDELIVERIES"),
        ([finding("POP_REDELIVERING", topic="u", queue=7)], "UNKNOWN_OWNERS"),
        ([finding("SLOW_LISTENER", client_ids="A B"), finding("POP_REDELIVERING", topic="t", queue=7)], "REDELIVERIES"),
    ],
)
def test_if_every_member_may_pop_a_queue_what_is_about_all_is_about_it(found: list[Finding], limit: str) -> None:
    popped = without_owners(Reason.POP_ALL_QUEUES)
    assert [member.client_id for member in popped.members or ()] == ["A", "B"]
    assert list(held(*found, intervals=[popped])) == [limit]


def test_of_several_the_first_limit_counts() -> None:
    assert list(held(finding("FLOW_CONTROLLED", queue=0), finding("CLIENT_HUNG", queue=0))) == ["STUCK_CONSUMER"]


def test_of_one_queue_the_limit_under_which_it_grew_most() -> None:
    """Twins until 150 s; all of the growth is read at 200 s."""
    cut = [replayed(0, 150, NOBODYS), replayed(150, 3600, OWNED)]
    unassigned = finding("UNASSIGNED_QUEUE", "DUPLICATE_CLIENT_ID", queue=0, end=150)
    assert list(held(unassigned, finding("DUPLICATE_CLIENT_ID", queue=0, end=150), intervals=cut)) == ["QUEUES"]
    late = [replayed(0, 250, NOBODYS), replayed(250, 3600, OWNED)]
    assert list(held(finding("DUPLICATE_CLIENT_ID", queue=0, end=250), intervals=late)) == ["DUPLICATE_IDS"]
    # Nobody says why it had no owner: a group takes its time to agree.
    assert held(intervals=late) == {}


def test_growths_under_one_limit_are_added_up() -> None:
    """300 and 300 messages, and 500 in between."""
    cut = [replayed(0, 120, OWNED), replayed(120, 220, OWNED), replayed(220, 3600, OWNED)]
    read = {0: ["10/10"] * 2, 100: ["310/10"] * 2, 200: ["810/10"] * 2, 300: ["1110/10"] * 2}
    assert list(held(finding("MIXED_STRATEGIES", begin=120, end=220), intervals=cut, read=read)) == ["QUEUES"]


def test_of_equal_growth_the_first_limit_counts() -> None:
    """450 messages in each of two intervals."""
    cut = [replayed(0, 150, OWNED), replayed(150, 3600, OWNED)]
    read = {0: ["10/10"] * 2, 100: ["460/10"] * 2, 200: ["910/10"] * 2}
    assert list(held(finding("MIXED_STRATEGIES", begin=150), intervals=cut, read=read)) == ["ALLOCATION"]
    assert list(held(finding("MIXED_STRATEGIES", end=100), intervals=cut, read=read)) == ["ALLOCATION"]


@pytest.mark.parametrize(
    ("cells", "limit"),
    [
        # Consumed all the time, at a pace that the members have.
        ("10/10 310/20 610/30 910/40 1210/50", "QUEUES"),
        # Not at all for 240 s, or for 180 s of them.
        ("10/10 310/10 610/10 910/10 1210/10", "NO_PROGRESS"),
        ("10/10 310/20 610/20 910/20 1210/20", "NO_PROGRESS"),
        # A pause of 120 s is the half of 240 s; one of 60 s is short.
        ("10/10 310/20 610/30 910/30 1210/30", "NO_PROGRESS"),
        ("10/10 310/20 610/30 910/40 1210/40", "QUEUES"),
        # Somebody set the offset back, and all of it waits again.
        ("910/910 910/10 910/30 910/50 910/60", "REWOUND"),
        # A slave served for a moment: its end was behind, and the master's is no load.
        ("910/910 400/0 911/0 912/20 913/40", "REWOUND"),
    ],
)
def test_more_members_are_the_answer_only_to_what_they_could_not_consume(cells: str, limit: str) -> None:
    assert list(held(read={60 * place: [cell, "10/10"] for place, cell in enumerate(cells.split())})) == [limit]


def test_slow_members_are_owners_of_the_queue() -> None:
    assert held(finding("FLOW_CONTROLLED", queue=0, client_ids="A B"))[Limit.LISTENER_AND_QUEUES].slow_members == 1


def test_threads_of_slow_members_are_those_that_they_reported_last() -> None:
    reported = client_history({"consume_threads": 20}, {"consume_threads": 8}, {})
    (limited,) = held(finding("SLOW_LISTENER", client_ids="A"), clients={"A": reported}).values()
    assert (limited.slow_members, limited.threads) == (1, 8)


def test_queues_of_limits_are_added_up() -> None:
    assert [*held(finding("SLOW_LISTENER", client_ids="A"), other=900).values()] == [
        HeldBack(Limit.LISTENER_AND_QUEUES, 1, 900, 90_000_000, 2, 2, slow_members=1, threads=None),
        HeldBack(Limit.QUEUES, 1, 900, 90_000_000, 2, 2),
    ]
    assert [*held(other=900).values()] == [HeldBack(Limit.QUEUES, 2, 1800, 180_000_000, 2, 2)]


@pytest.mark.parametrize(
    ("found", "limits"),
    [
        (finding("UNASSIGNED_QUEUE", "MEMBER_NOT_SUBSCRIBED", queue=0), ["SUBSCRIPTIONS"]),
        (finding("STRANDED_WRITE_QUEUES", queue=0), ["UNREADABLE_QUEUES"]),
        # INFO: nothing came.
        (finding("UNASSIGNED_QUEUE", "MEMBER_NOT_SUBSCRIBED", "INFO", queue=0), []),
        # Queue 1 has a known backlog.
        (finding("UNASSIGNED_QUEUE", "MEMBER_NOT_SUBSCRIBED", queue=1), []),
        # Somebody consumes it.
        (finding("CLIENT_HUNG", queue=0), []),
    ],
)
def test_what_nobody_consumed_counts_where_its_backlog_is_unknown(found: Finding, limits: list[str]) -> None:
    assert list(held(found, lag=None)) == limits
    for limit_held in held(found, lag=None).values():
        assert limit_held[1:] == (0, 0, 0, 0, 0, 0, None, 0)
