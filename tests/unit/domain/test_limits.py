"""Which findings stand for what held a queue back: those about it or its owner, at the time when its backlog grew."""

from dataclasses import replace

import pytest

from spark_jobs.domain.kernel.audited_step import RebalanceInterval
from spark_jobs.domain.model.finding import Finding
from spark_jobs.domain.model.history import ClientHistory, Place
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.series import Span
from spark_jobs.domain.model.statuses import Reason
from spark_jobs.domain.status.backlog import queue_intervals
from spark_jobs.domain.status.capacity import HeldBack, Limit
from spark_jobs.domain.status.limits import held_back
from tests.support import findings as builder
from tests.support.builders import audited_step, replayed
from tests.support.client_groups import held as owned_queue
from tests.support.client_steps import client_history
from tests.support.samples import measured, offsets
from tests.support.tables import described
from tests.support.times import micros

PLACES: list[Place] = [("b", 0), ("b", 1)]
OWNED = dict(zip(PLACES, [(0,), (1,)], strict=True))
NOBODYS = dict.fromkeys(PLACES, ())
#: Two queues of `A` and `B`, each with 900 messages at 200 s that were not there at 100 s.
READ = {0: ["10/10"] * 2, 100: ["10/10"] * 2, 200: ["910/10"] * 2, 300: ["910/910"] * 2}


def finding(text: str) -> Finding:
    """`RULE:CAUSE name=value …`: `queue` is one of broker b, `clients` are joined by `+`."""
    kind, *options = text.split()
    rule, _, cause = kind.partition(":")
    of = dict(option.split("=") for option in options)
    found = builder.finding(
        *(of.get("id", "id"), rule, float(of.get("begin", 0)), float(of.get("end", 3600)), cause or "-"),
        severity=of.get("severity", "ERROR"),
        topic=of.get("topic"),
        client_ids=of["clients"].split("+") if "clients" in of else (),
        queues=[("t", "b", int(of["queue"]), "R")] if "queue" in of else (),
        evidence={"persistence": of.get("persistence")},
    )
    return found._replace(root_finding_id=of.get("root"))


def held(
    text: str = "",
    *,
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
    queues, found = queue_intervals(rows), [finding(one) for one in text.split(";") if one]
    return {limit_held.limit: limit_held for limit_held in held_back(step, queues, queues.unknown(), found)}


#: what | findings | limit of queue 0, whose backlog grew from 100 s to 200 s
_SHARED = """
a finding about the queue                       | CLIENT_HUNG queue=0 | STUCK_CONSUMER
… not one about another queue                   | CLIENT_HUNG queue=1 | UNEXPLAINED
… whatever client it names                      | CLIENT_HUNG queue=0 clients=B | STUCK_CONSUMER
of several the first limit counts               | FLOW_CONTROLLED queue=0; CLIENT_HUNG queue=0 | STUCK_CONSUMER
a finding about its owner                       | SLOW_LISTENER clients=A | LISTENER
… not one about another member                  | SLOW_LISTENER clients=B | UNEXPLAINED
a finding about the group                       | MIXED_STRATEGIES | ALLOCATION
… or about the topic                            | MIXED_STRATEGIES topic=t | ALLOCATION
… not about another topic                       | MIXED_STRATEGIES topic=u | UNEXPLAINED
… nor if it is INFO                             | MIXED_STRATEGIES severity=INFO | UNEXPLAINED
… nor if it ends before the backlog grows       | MIXED_STRATEGIES end=100 | UNEXPLAINED
… but just afterwards                           | MIXED_STRATEGIES end=101 | ALLOCATION
… or just before it has grown                   | MIXED_STRATEGIES begin=199 | ALLOCATION
… not if it begins then                         | MIXED_STRATEGIES begin=200 | UNEXPLAINED
clients of several languages leave it unowned   | UNASSIGNED_QUEUE:MIXED_CLIENTS queue=0 | ALLOCATION
a strategy leaves it unowned                    | UNASSIGNED_QUEUE:MACHINE_ROOM_BUG queue=0 | ALLOCATION
duplicates that persist                         | DUPLICATE_CLIENT_ID persistence=PERSISTENT | DUPLICATE_IDS
… not those that pass                           | DUPLICATE_CLIENT_ID persistence=TRANSIENT | UNEXPLAINED
each queue has one thread, whatever else is slow | FLOW_CONTROLLED queue=0; NEAR_CAPACITY:ORDERED_QUEUE clients=A | ORDERED_QUEUES
different topics                                | SUBSCRIPTION_MISMATCH:DIFFERENT_TOPICS | SUBSCRIPTIONS
… other expressions keep no member from consuming | SUBSCRIPTION_MISMATCH:DIFFERENT_EXPRESSIONS | UNEXPLAINED
hot queues                                      | PRODUCER_SKEW:HOT_QUEUES | PRODUCER_SKEW
… a broker that gets nothing holds none up      | PRODUCER_SKEW:BROKER_WITHOUT_MESSAGES | UNEXPLAINED
an idle consumer holds none up                  | IDLE_CONSUMER | UNEXPLAINED
a broker that clients do not reach              | BROKER_NOT_READABLE:NOT_REACHED queue=0 | UNREACHABLE_BROKER
… one whose topics may not be read              | BROKER_NOT_READABLE:BROKER_PERMISSION queue=0 | UNREADABLE_QUEUES
… one that left the route                       | BROKER_NOT_READABLE:LEFT_ROUTE queue=0 | UNREADABLE_QUEUES
a client that holds less than its share         | ALLOCATION_DRIFT:HOLDS_LESS queue=0 | ALLOCATION_DRIFT
… by the route of a name server                 | ALLOCATION_DRIFT:NAME_SERVERS_DIFFER queue=0 | ALLOCATION_DRIFT
… not one that holds more                       | ALLOCATION_DRIFT:HOLDS_MORE queue=0 | UNEXPLAINED
a lock that is missing                          | ORDERLY_LOCK_MISSING:NOT_LOCKED queue=0 | ORDERLY_LOCKS
… because the broker has no master              | ORDERLY_LOCK_MISSING:NO_MASTER queue=0 | NO_MASTER
who waits for a lock is not stuck               | ORDERLY_LOCK_MISSING:NOT_LOCKED queue=0 id=lock; CONSUMER_STOPPED:LISTENER_HANGS queue=0 root=lock | ORDERLY_LOCKS
… nor who waits for a master                    | ORDERLY_LOCK_MISSING:NO_MASTER queue=0 id=lock; CONSUMER_STOPPED:LISTENER_HANGS queue=0 root=lock | NO_MASTER
… without that finding it is                    | CONSUMER_STOPPED:LISTENER_HANGS queue=0 root=lock | STUCK_CONSUMER
what follows from a rewind is no load           | OFFSET_REWOUND:RESET queue=0 id=rewind severity=WARN; ALLOCATION_DRIFT:HOLDS_LESS queue=0 root=rewind | REWOUND
… a symptom of something else is                | OFFSET_REWOUND:RESET queue=0 id=rewind severity=WARN; ALLOCATION_DRIFT:HOLDS_LESS queue=0 root=other | ALLOCATION_DRIFT
… and a root cause                              | OFFSET_REWOUND:RESET queue=0 id=rewind severity=WARN; ALLOCATION_DRIFT:HOLDS_LESS queue=0 | ALLOCATION_DRIFT
a member that comes with new connections        | FLAPPING_MEMBER:RECONNECTS queue=1 clients=B severity=WARN | RECONNECTS
… whatever is slow                              | FLAPPING_MEMBER:RECONNECTS queue=1 clients=B severity=WARN; SLOW_LISTENER clients=A | RECONNECTS
… one that restarts                             | FLAPPING_MEMBER:SAME_ID queue=1 clients=B severity=WARN | UNEXPLAINED
views that disagree about its topic             | MEMBERSHIP_VIEW_SPLIT topic=t | VIEWS_DISAGREE
… not about another one                         | MEMBERSHIP_VIEW_SPLIT topic=u | UNEXPLAINED
its owner consumes all of its queues more than once | CONSUME_FAILING:TIMED_OUT queue=7 clients=A | TIMED_OUT
… not another member                            | CONSUME_FAILING:TIMED_OUT queue=7 clients=B | UNEXPLAINED
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("found", "limit"), described(_SHARED))
def test_a_finding_about_the_queue_or_its_owner_at_that_time(found: str, limit: str) -> None:
    """Three queues for two members: with one for each of them, it would be QUEUES and not UNEXPLAINED."""
    (only,) = held(found, intervals=[replayed(0, 3600, OWNED | {("b", 2): (0,)})]).values()
    # 900 messages for 100 s.
    assert only[:6] == (Limit(limit), 1, 900, 90_000_000, 3, 2)


#: what | why there are no owners | findings | limit of queue 0, which has a backlog
_NOT_OWNED = """
nothing is known of its owner                   | UNKNOWN_STRATEGY   |                          | UNKNOWN_OWNERS
… nor how many queues another one would have    | UNKNOWN_STRATEGY   | FLOW_CONTROLLED queue=0  | UNKNOWN_OWNERS
… but that the owner stalls                     | UNKNOWN_STRATEGY   | CONSUMER_STALLED:LISTENER_HANGS queue=0 | STUCK_CONSUMER
the broker assigns it                           | BROKER_REBALANCE   |                          | UNKNOWN_OWNERS
… whatever stalls                               | BROKER_REBALANCE   | CONSUMER_STALLED:LISTENER_HANGS queue=0 | UNKNOWN_OWNERS
no broker lists its consumer                    | CONSUMED_BY_UNSEEN |                          | UNKNOWN_MEMBERS
… nor is it known whether there is any          | CONSUMED_BY_UNSEEN | CONSUMER_STALLED:LISTENER_HANGS queue=0 | UNKNOWN_MEMBERS
every member may pop it: what is about all      | POP_ALL_QUEUES     | SLOW_LISTENER clients=A; SLOW_LISTENER clients=B | POP_MEMBERS
… not about one of them                         | POP_ALL_QUEUES     | SLOW_LISTENER clients=A  | UNKNOWN_OWNERS
… all hang                                      | POP_ALL_QUEUES     | CLIENT_HUNG clients=A+B  | STUCK_CONSUMER
… connections of all matter to none               | POP_ALL_QUEUES     | FLAPPING_MEMBER:RECONNECTS clients=A+B severity=WARN | UNKNOWN_OWNERS
messages come again, in the retry topic's queue | POP_ALL_QUEUES     | POP_REDELIVERING topic=t queue=7 | REDELIVERIES
… those of another topic                        | POP_ALL_QUEUES     | POP_REDELIVERING topic=u queue=7 | UNKNOWN_OWNERS
… which comes first                             | POP_ALL_QUEUES     | SLOW_LISTENER clients=A+B; POP_REDELIVERING topic=t queue=7 | REDELIVERIES
"""  # noqa: E501 - a table


@pytest.mark.parametrize(("reason", "found", "limit"), described(_NOT_OWNED))
def test_a_queue_whose_owner_is_not_known(reason: str, found: str, limit: str) -> None:
    interval = replace(replayed(0, 3600, NOBODYS), allocation=None, queues=tuple(PLACES), reason=Reason(reason))
    assert [member.client_id for member in interval.members or ()] == ["A", "B"]
    assert list(held(found, intervals=[interval])) == [limit]


def test_of_one_queue_the_limit_under_which_it_grew_most() -> None:
    """Duplicates until 150 s; all of the growth is measured at 200 s."""
    cut = [replayed(0, 150, NOBODYS), replayed(150, 3600, OWNED)]
    unassigned = "UNASSIGNED_QUEUE:DUPLICATE_CLIENT_ID queue=0 end=150"
    assert list(held(f"{unassigned}; DUPLICATE_CLIENT_ID queue=0 end=150", intervals=cut)) == ["QUEUES"]
    late = [replayed(0, 250, NOBODYS), replayed(250, 3600, OWNED)]
    assert list(held("DUPLICATE_CLIENT_ID queue=0 end=250", intervals=late)) == ["DUPLICATE_IDS"]
    # Nothing explains why it had no owner: a group takes its time to agree.
    assert held(intervals=late) == {}


@pytest.mark.parametrize(
    ("first", "hits", "limit"),
    [
        (OWNED, "MIXED_STRATEGIES begin=150", "ALLOCATION"),
        (OWNED, "MIXED_STRATEGIES end=100", "ALLOCATION"),
        # A group takes its time to agree on an owner: that is no limit.
        (NOBODYS, "", "QUEUES"),
    ],
)
def test_of_equal_growth_the_first_limit_counts(first: dict[Place, tuple[int, ...]], hits: str, limit: str) -> None:
    """450 messages in each of two intervals."""
    cut = [replayed(0, 150, first), replayed(150, 3600, OWNED)]
    read = {0: ["10/10"] * 2, 100: ["460/10"] * 2, 200: ["910/10"] * 2}
    assert list(held(hits, intervals=cut, read=read)) == [limit]


def test_growths_under_one_limit_are_added_up() -> None:
    """300 and 300 messages, and 500 in between."""
    cut = [replayed(0, 120, OWNED), replayed(120, 220, OWNED), replayed(220, 3600, OWNED)]
    read = {0: ["10/10"] * 2, 100: ["310/10"] * 2, 200: ["810/10"] * 2, 300: ["1110/10"] * 2}
    assert list(held("MIXED_STRATEGIES begin=120 end=220", intervals=cut, read=read)) == ["QUEUES"]


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
    assert held("FLOW_CONTROLLED queue=0 clients=A+B")[Limit.LISTENER_AND_QUEUES].slow_members == 1


def test_threads_of_slow_members_are_those_that_they_reported_last() -> None:
    reported = client_history({"consume_threads": 20}, {"consume_threads": 8}, {})
    (limited,) = held("SLOW_LISTENER clients=A", clients={"A": reported}).values()
    assert (limited.slow_members, limited.threads) == (1, 8)


def test_queues_of_limits_are_added_up() -> None:
    assert [*held("SLOW_LISTENER clients=A", other=900).values()] == [
        HeldBack(Limit.LISTENER_AND_QUEUES, 1, 900, 90_000_000, 2, 2, slow_members=1, threads=None),
        HeldBack(Limit.QUEUES, 1, 900, 90_000_000, 2, 2),
    ]
    assert [*held(other=900).values()] == [HeldBack(Limit.QUEUES, 2, 1800, 180_000_000, 2, 2)]


def test_a_removed_queue_is_held_back_where_no_other_lags() -> None:
    routes: list[Span[tuple[RouteEntry, ...]]] = [
        Span(micros(begin), micros(begin + 100), micros(begin), (RouteEntry("b", 6, readable, 2),))
        for begin, readable in ((0, 2), (100, 1))
    ]
    step = audited_step(offsets={"t": offsets(PLACES, {60: ["9/9", "10/2"], 80: ["9/9", "10/3"]})})
    removed = finding("BROKER_NOT_READABLE:QUEUES_REMOVED queue=1")
    (only,) = held_back(replace(step, routes={"t": routes}), queue_intervals([]), [], [removed])
    assert (only.limit, only.messages) == (Limit.UNREADABLE_QUEUES, 7)


@pytest.mark.parametrize(
    ("found", "limits"),
    [
        ("UNASSIGNED_QUEUE:MEMBER_NOT_SUBSCRIBED queue=0", ["SUBSCRIPTIONS"]),
        ("STRANDED_WRITE_QUEUES queue=0", ["UNREADABLE_QUEUES"]),
        # INFO: nothing came.
        ("UNASSIGNED_QUEUE:MEMBER_NOT_SUBSCRIBED queue=0 severity=INFO", []),
        # Queue 1 has a known backlog, and a member consumes queue 0.
        ("UNASSIGNED_QUEUE:MEMBER_NOT_SUBSCRIBED queue=1", []),
        ("CLIENT_HUNG queue=0", []),
    ],
)
def test_what_is_not_consumed_counts_where_its_backlog_is_unknown(found: str, limits: list[str]) -> None:
    expected = {Limit(limit): HeldBack(Limit(limit), 0, 0, 0, 0, 0, 0, None, 0) for limit in limits}
    assert held(found, lag=None) == expected


#: what | LOAD_IMBALANCE, or none | queues that fall behind (… 0 to 3 are A's, 4 is B's) | other findings | limits
_SHARES = """
the one with more falls behind        | REMAINDERS | 0 3   |                                  | IMBALANCE
… one with less does, too             | REMAINDERS | 0 4   |                                  | UNEXPLAINED
… only the one with less does         | REMAINDERS | 4     |                                  | UNEXPLAINED
nobody says that shares are uneven    | -          | 0 3   |                                  | UNEXPLAINED
traffic is uneven, and shares are not | UNEQUAL_TRAFFIC | 0 |                                 | UNEXPLAINED
busy threads show that more would help | REMAINDERS | 0 3  | SLOW_LISTENER clients=A          | LISTENER
… also where all are busy             | REMAINDERS | 0 4   | SLOW_LISTENER clients=A+B        | LISTENER
what else is wrong comes first        | REMAINDERS | 0     | CONSUME_FAILING:SENT_BACK clients=A | FAILURES
uneven at another time                | REMAINDERS begin=400 | 0 |                            | UNEXPLAINED
uneven in another topic               | REMAINDERS topic=u | 0 |                              | UNEXPLAINED
"""


@pytest.mark.parametrize(("uneven", "behind", "more", "limit"), described(_SHARES))
def test_shares_are_the_limit_if_those_with_more_than_their_share_fall_behind(
    uneven: str, behind: str, more: str, limit: str
) -> None:
    """The shares that a finding of INFO names: queues 0 to 3 are A's, queue 4 is B's."""
    assert list(by_shares(uneven, behind, more, "10/10 310/20 610/40 910/60")) == [limit]


def test_a_queue_that_stood_is_no_matter_of_shares() -> None:
    assert list(by_shares("REMAINDERS", "0", "", "10/10 310/10 610/10 910/10")) == ["NO_PROGRESS"]


@pytest.mark.parametrize(("standing", "limit"), [(20, "NO_PROGRESS"), (1, "LISTENER")])
def test_a_queue_that_stood_for_most_of_the_time_is_held_back_by_why_it_stood(standing: int, limit: str) -> None:
    """Its backlog grew under a slow listener for 180 s; then nothing came, and its offset stood."""
    cells = " ".join(["10/10", "310/20", "610/20", "910/60", *["910/60"] * standing])
    assert list(by_shares("-", "0", "SLOW_LISTENER clients=A end=180", cells)) == [limit]


def by_shares(uneven: str, behind: str, more: str, cells: str) -> dict[Limit, HeldBack]:
    """Queues that fall behind (`behind`) show these cells, one in 60 s, and the others keep up."""
    places: list[Place] = [("b", number) for number in range(5)]
    interval = replayed(0, 3600, {place: (int(place[1] == 4),) for place in places})
    chosen = {int(number) for number in behind.split()}
    read = {
        60 * moment: [cell if number in chosen else "10/10" for number in range(5)]
        for moment, cell in enumerate(cells.split())
    }
    lags = [850 if number in chosen else 0 for number in range(5)]
    rows = [measured(interval, lag_last=lags, lag_max=lags)]
    step = audited_step(interval, progress=rows, offsets={"t": offsets(places, read)})
    texts = [*([f"LOAD_IMBALANCE:{uneven} severity=INFO"] if uneven != "-" else []), *filter(None, [more])]
    queues = queue_intervals(rows)
    return {each.limit: each for each in held_back(step, queues, [], [finding(text) for text in texts])}


#: what | the client's snapshots: messages/MiB of queues 0 and 1 | its settings | more of the finding | limit
_CACHES = """
few messages fill the cache         | 4/100 1/30          | threads=20              |            | LARGE_MESSAGES
… for half of its threads           | 9/100 1/30          | threads=20              |            | LARGE_MESSAGES
… for more of them                  | 9/100 2/30          | threads=20              |            | LISTENER
… of unknown threads                | 4/100 1/30          |                         |            | LISTENER
a queue takes one thread in order   | 4/100 1/30          | threads=20 orderly=True |            | LISTENER
the client says not how it consumes | 4/100 1/30          | threads=20 orderly=None |            | LISTENER
it counts MiB without messages      | 4/100 0/30          | threads=20              |            | LISTENER
a queue without any is empty        | 4/100 0/0           | threads=20              |            | LARGE_MESSAGES
messages in hand are not reported   | 4/100 ?/30          | threads=20              |            | LISTENER
it follows from something else      | 4/100 1/30          | threads=20              | root=other | LISTENER
the messages are too many           | 4/100 1/30          | threads=20              | cause=CACHED_MESSAGES | LISTENER
another client                      | 4/100 1/30          | threads=20              | client=B   | LISTENER
it holds none of any queue          | 0/0 0/0             | threads=20              |            | LISTENER
"""


@pytest.mark.parametrize(("caches", "settings", "more", "limit"), described(_CACHES))
def test_few_messages_that_fill_a_cache_are_large(caches: str, settings: str, more: str, limit: str) -> None:
    of = dict(option.split("=") for option in f"{settings} {more}".split())
    numbers = [[None if number == "?" else int(number) for number in cell.split("/")] for cell in caches.split()]
    owned = [
        owned_queue("t", queue, 0, {"cached_count": count, "cached_mib": mib})
        for queue, (count, mib) in enumerate(numbers)
    ]
    orderly = {"True": True, "None": None}.get(of.get("orderly", ""), False)
    reported = {"owned_queues": owned, "consume_orderly": orderly, "consume_threads": int(of.get("threads", 0)) or None}
    clients = {"A": client_history(reported, reported)}
    cause = of.get("cause", "CACHED_SIZE")
    full = finding(f"FLOW_CONTROLLED:{cause} queue=0" + (f" root={of['root']}" if "root" in of else ""))
    full = full._replace(client_id=of.get("client", "A"))
    interval = replayed(0, 3600, OWNED | {("b", 2): (0,)})
    lags = [900, 0, 0]
    rows = [measured(interval, lag_last=lags, lag_max=lags)]
    step = audited_step(interval, progress=rows, offsets={"t": offsets(PLACES, READ)})
    step = replace(step, history=replace(step.history, clients=clients))
    assert [each.limit for each in held_back(step, queue_intervals(rows), [], [full])] == [limit]
