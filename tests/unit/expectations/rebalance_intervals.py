"""Cases of `expectations/rebalance_intervals.py`."""

from typing import Any

from expectations.rebalance_intervals import SUITE
from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from tests.support.times import at
from tests.unit.expectations.cases import OWN, Cases, Row, Rows

KEY = {"step_start": at(0), "cluster": OWN, "consumer_group": "g", "topic": "t"}
UNOBSERVED = {"status": "UNOBSERVED", "reason": "NO_ROUTE_SNAPSHOT"}
BY_HASH, BY_LISTS = {"strategy": "CONSISTENT_HASH"}, {"strategy": "CONFIG"}


def members(*client_ids: str, subscribes: bool = True) -> list[Row]:
    return [
        {"client_id": client_id, "client_addr": f"10.0.0.1:{port}", "strategy": "AVG", "subscribes": subscribes}
        for port, client_id in enumerate(client_ids)
    ]


def queues(*ids: int) -> list[Row]:
    return [{"broker_name": "b", "queue_id": queue_id} for queue_id in ids]


def interval(start: float, end: float, view: str = "*", **changes: Any) -> Row:
    """Members a and b have queue 0 and queue 1."""
    state = {"status": "REPLAYED", "strategy": "AVG", "strategy_source": "DEFAULT", "members": members("a", "b")}
    counts = {"member_count": 2, "distinct_members": 2, "queue_count": 2, "queues": queues(0, 1)}
    found = {"unassigned_queues": 0, "double_owned_queues": 0, "idle_members": 0}
    shares = {"min_queues_per_member": 1, "max_queues_per_member": 1}
    span = {"membership_view": view, "interval_start": at(start), "interval_end": at(end)}
    return KEY | span | state | counts | found | shares | changes


def allocation(start: float, queue_id: int, *owners: str, view: str = "*", readable: bool = True) -> Row:
    key = KEY | {"membership_view": view, "interval_start": at(start), "broker_name": "b", "queue_id": queue_id}
    named = [{"client_id": client_id, "client_addr": "10.0.0.1:1"} for client_id in owners]
    return key | {"owners": named, "readable": readable}


def tiles(*spans: tuple[float, float, str]) -> Rows:
    """Intervals with these starts, ends and views, and their allocations."""
    allocations = [
        allocation(start, queue_id, owner, view=view)
        for start, view in sorted({(start, view) for start, _, view in spans})
        for queue_id, owner in enumerate("ab")
    ]
    return {REBALANCE_INTERVALS: [interval(*span) for span in spans], ALLOCATIONS: allocations}


def good(*allocations: Row, **changes: Any) -> Rows:
    """One interval of the whole step; its allocations, if they are not queue 0 for a and queue 1 for b."""
    found = allocations or (allocation(0, 0, "a"), allocation(0, 1, "b"))
    return {REBALANCE_INTERVALS: [interval(0, 3600, **changes)], ALLOCATIONS: found}


def unreplayed(**changes: Any) -> Rows:
    return {REBALANCE_INTERVALS: [interval(0, 3600, **changes)]}


#: Queue 0 is a's, and queue 1 nobody's.
ONE_LEFT = (allocation(0, 0, "a"), allocation(0, 1))
#: Queue 0 is both members', and queue 1 is b's.
ONE_TWICE = (allocation(0, 0, "a", "b"), allocation(0, 1, "b"))
TWINS = {"members": members("a", "a"), "distinct_members": 1}
UP_TO_ONE = {"min_queues_per_member": 0, "max_queues_per_member": 1}
UP_TO_TWO = {"min_queues_per_member": 1, "max_queues_per_member": 2}
BOTH_OR_NONE = {"min_queues_per_member": 0, "max_queues_per_member": 2}
NOT_ALL_SUBSCRIBE = {"members": members("a") + members("b", subscribes=False)}

#: Queue 0 is both members', and queue 1 nobody's, until they have heard of the route.
FOLLOWING = [
    ONE_TWICE[0] | {"settled_at": at(50)},
    ONE_LEFT[1] | {"settled_at": at(50), "unassigned_cause": "ROUTE_OUTDATED"},
]
OF_TWO_LANGUAGES = [row | {"language": one} for row, one in zip(members("a", "b"), ("GO", "JAVA"), strict=True)]
OF_TWO_VERSIONS = [row | {"version": version} for row, version in zip(members("a", "b"), (355, 493), strict=True)]

CASES = Cases(
    SUITE,
    breaks={
        "intervals_of_a_view_do_not_overlap": [
            tiles((0, 2000, "*"), (1999.999, 3600, "*")),
            tiles((0, 1000, "*"), (1000, 3600, "b1"), (1000, 2000, "b2"), (1999, 3600, "b2")),
            # What all brokers agree on and what one of them says are not true at once.
            tiles((0, 2000, "*"), (1999, 3600, "b1")),
            tiles((0, 2000, "b1"), (1999, 3600, "*")),
            tiles((0, 3600, "*"), (0, 3600, "b1")),
        ],
        "intervals_leave_no_hole": [
            tiles((0, 2000, "*"), (2000.001, 3600, "*")),
            tiles((1, 3600, "*")),
            tiles((0, 3599, "*")),
            tiles((0, 3601, "*")),
            tiles((-1, 3600, "*")),
            tiles((0, 1000, "*"), (1001, 3600, "b1"), (1001, 3600, "b2")),
        ],
        "status_is_known": [unreplayed(status="ODD", reason="NO_ROUTE")],
        "reason_is_known": [
            good(reason="NO_ROUTE"),
            unreplayed(status="UNOBSERVED", reason=None),
            unreplayed(status="UNOBSERVED", reason="ODD"),
        ],
        "strategy_source_is_known": [good(strategy_source="GUESS")],
        "trigger_is_known": [good(trigger_type="ODD")],
        "every_readable_queue_is_allocated_once": [
            good(allocation(0, 0, "a"), **UP_TO_ONE),
            good(allocation(0, 0, "a"), allocation(0, 1, "b", readable=False)),
            good(allocation(0, 0, "a"), allocation(0, 1, "b"), allocation(0, 2, "b"), **UP_TO_TWO),
            good(**UNOBSERVED),
            unreplayed(**UP_TO_ONE),
        ],
        "unassigned_queues_are_counted": [good(unassigned_queues=1, **BY_HASH), good(*ONE_LEFT, **UP_TO_ONE)],
        "double_owned_queues_are_counted": [good(double_owned_queues=1, **BY_LISTS), good(*ONE_TWICE, **UP_TO_TWO)],
        "shares_add_up": [
            good(min_queues_per_member=2, max_queues_per_member=2),
            good(min_queues_per_member=0, max_queues_per_member=0),
        ],
        "even_strategies_are_even": [good(**BOTH_OR_NONE), good(strategy="AVG_BY_CIRCLE", **BOTH_OR_NONE)],
        "even_strategies_leave_nothing": [
            good(*ONE_LEFT, unassigned_queues=1, **UP_TO_ONE),
            good(*ONE_LEFT, unassigned_queues=1, strategy="AVG_BY_CIRCLE", **UP_TO_ONE),
        ],
        "nothing_is_owned_twice_without_a_reason": [
            good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO),
            good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, **BY_HASH),
            good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, members=OF_TWO_LANGUAGES),
        ],
        "duplicates_leave_queues_unassigned": [
            good(**TWINS),
            good(*ONE_LEFT, unassigned_queues=1, **TWINS, **UP_TO_ONE),
            good(*ONE_TWICE, double_owned_queues=1, **TWINS, **UP_TO_TWO),
        ],
        "members_are_counted": [
            good(member_count=3, **UP_TO_ONE),
            good(members=members("a", "b", "c")),
            good(members=members("a", "a")),
        ],
        "members_are_in_order": [good(members=members("b", "a")), good(members=members("a", "B"))],
        "queues_are_in_order": [good(queues=queues(1, 0)), good(queues=queues(10, 9))],
        "moves_are_possible": [
            good(minimum_moves=-1, queues_moved=0, queues_preserved=2),
            good(minimum_moves=2, queues_moved=1, queues_preserved=1),
            good(minimum_moves=1, queues_moved=2, queues_preserved=1),
        ],
        # An interval that is repeated as it is overlaps itself too: here one of the two is empty.
        "keys_are_unique": [tiles((0, 0, "*"), (0, 3600, "*"))],
    },
    keeps=[
        good(),
        good(allocation(0, 0, "a"), allocation(0, 1, "b"), allocation(0, 2, readable=False)),
        tiles((0, 1, "*"), (1, 3600, "*")),
        tiles((0, 1000, "*"), (1000, 3600, "b1"), (1000, 2000, "b2"), (2000, 3600, "b2")),
        tiles((0, 1000, "*"), (1000, 2000, "b1"), (1000, 2000, "b2"), (2000, 3600, "*")),
        unreplayed(**UNOBSERVED),
        unreplayed(**UNOBSERVED | dict.fromkeys(("strategy", "strategy_source", "members", "queues"))),
        unreplayed(status="NOT_REPLAYABLE", reason="UNKNOWN_STRATEGY"),
        good(trigger_type="MEMBER_JOINED", strategy_source="CLIENT"),
        good(**UP_TO_ONE),
        good(**BOTH_OR_NONE, **BY_HASH),
        good(**BOTH_OR_NONE, **NOT_ALL_SUBSCRIBE),
        good(*ONE_LEFT, unassigned_queues=1, **UP_TO_ONE, **BY_HASH),
        good(*ONE_LEFT, unassigned_queues=1, **UP_TO_ONE, **NOT_ALL_SUBSCRIBE),
        good(allocation(0, 0), allocation(0, 1), members=[], member_count=0, distinct_members=0, unassigned_queues=2),
        good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, **BY_LISTS),
        good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, strategy="MIXED"),
        good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, **BY_HASH, members=OF_TWO_LANGUAGES),
        good(*ONE_TWICE, double_owned_queues=1, **UP_TO_TWO, strategy="MACHINE_ROOM", members=OF_TWO_VERSIONS),
        # Clients have the queues of the route before.
        good(*FOLLOWING, double_owned_queues=1, unassigned_queues=1),
        # Both pop queue 0.
        good(ONE_TWICE[0] | {"double_owned_cause": "POP_SHARED"}, ONE_TWICE[1], **UP_TO_TWO, strategy="POP-AVG+1"),
        # Twins a and a: both have queue 0, and nobody queue 1; of one queue nothing is left over.
        good(allocation(0, 0, "a", "a"), allocation(0, 1), unassigned_queues=1, double_owned_queues=1, **TWINS),
        good(allocation(0, 0, "a", "a"), double_owned_queues=1, queue_count=1, queues=queues(0), **TWINS),
        # Java orders by UTF-16, Spark by UTF-8: where names are not ASCII that may differ.
        good(members=members("\uff5e", "\U0001f600")),
        good(members=members("\U0001f600", "\uff5e")),
        good(queues=queues(9, 10)),
        good(minimum_moves=0, queues_moved=0, queues_preserved=2),
        good(minimum_moves=1, queues_moved=1, queues_preserved=1),
    ],
)
