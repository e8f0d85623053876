"""Laws of the rebalance intervals: a violation is a bug of the audit."""

import numpy as np
import pyarrow as pa

from expectations.common import Holds, known_value
from expectations.rows import Rows, Values, all_of, codes, greatest_before, rows_before, taken
from expectations.suite import Expectation, Suite, Tables
from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from schemas.common import OF_TOPIC
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.statuses import Reason, Status, Trigger
from spark_jobs.domain.rocketmq.strategies import StrategySource

#: Causes of queues whose owner shows that it does not have them.
_AS_SHOWN = (UnassignedCause.WAITS_FOR_LOCK, UnassignedCause.ROUTE_OUTDATED)


def with_neighbors_and_allocations(intervals: Rows, tables: Tables) -> Rows:
    """Add where intervals before the row's end: `covered_until`, of its topic; `view_end`, of its view; `common_end`,
    of all brokers' view; and `topic_end`, of the topic's last one. Add numbers of its allocations: `allocated`,
    readable queues; `without` owner; `twice` owned, except by POP; `owned`, owners; `waiting`, with an owner who shows
    not to have them; `following`, with owners who may have the former route. Null: there is none.
    """
    (topic,), (view,) = codes(OF_TOPIC.names, intervals), codes((*OF_TOPIC.names, "membership_view"), intervals)
    start, end = intervals["interval_start"].numbers(), intervals["interval_end"].numbers()
    # Intervals of a split begin together: what the earlier ones cover is what reaches the present one's start.
    of_all = np.where((intervals["membership_view"] == "*").flags(), end, -1)
    last = np.zeros(topic.max(initial=-1) + 1, np.int64)
    np.maximum.at(last, topic, end)
    return intervals.adding(
        covered_until=_as_time(greatest_before(end, topic, start, end)),
        common_end=_as_time(greatest_before(of_all, topic, start, end)),
        topic_end=_as_time(Values(pa.array(last[topic]))),
        view_end=taken(intervals["interval_end"], rows_before(view, start)),
        **_allocated(intervals, tables[ALLOCATIONS]),
    )


def _as_time(micros: Values) -> Values:
    return Values(micros.array.cast(pa.timestamp("us", "UTC")))


def _allocated(intervals: Rows, allocations: Rows) -> dict[str, Values]:
    own, of_allocations = codes(REBALANCE_INTERVALS.key, intervals, allocations)
    owners, readable = allocations["owners"].size().numbers(unknown=0), allocations["readable"].or_else(False).flags()
    is_shared = (allocations["double_owned_cause"] == DoubleOwnedCause.POP_SHARED).or_else(False).flags()
    counted = {
        "allocated": readable,
        "without": readable & (owners == 0),
        "twice": (owners > 1) & ~is_shared,
        "owned": owners,
        "waiting": allocations["unassigned_cause"].is_in(_AS_SHOWN).or_else(False).flags(),
        "following": allocations["settled_at"].is_known().flags(),
    }
    has_none = ~np.isin(own, of_allocations)
    size = max(own.max(initial=-1), of_allocations.max(initial=-1)) + 1
    sums = {name: np.bincount(of_allocations, numbers, size).astype(np.int64)[own] for name, numbers in counted.items()}
    return {name: Values(pa.array(total, mask=has_none)) for name, total in sums.items()}


def _do_not_overlap(rows: Rows) -> Values:
    start = rows["interval_start"]
    in_view = (rows["view_end"] <= start) | rows["view_end"].is_unknown()
    beside_all = (rows["common_end"] <= start) | rows["common_end"].is_unknown()
    return in_view & beside_all & ((rows["membership_view"] != "*") | (rows["covered_until"] <= start))


def _leave_no_hole(rows: Rows) -> Values:
    start, step_start = rows["interval_start"], rows["step_start"]
    covered = rows["covered_until"]
    begins = (covered >= start).or_else(False) | (covered.is_unknown() & (step_start >= start))
    return begins & (rows["topic_end"] == step_start + rows.settings.step) & (start >= step_start)


def _is_replayed(rows: Rows) -> Values:
    return rows["status"] == Status.REPLAYED


def _all_subscribe(rows: Rows) -> Values:
    return rows.every("members", lambda member: member["subscribes"])


def _is_even(rows: Rows) -> Values:
    return rows["strategy"].is_in(("AVG", "AVG_BY_CIRCLE"))


def _ids_differ(rows: Rows) -> Values:
    return _is_replayed(rows) & (rows["distinct_members"] == rows["member_count"])


def _compute_alike(rows: Rows) -> Values:
    """Other strategies are written alike in all languages and versions."""
    kinds = rows.distinct("members", "language") + rows.distinct("members", "version")
    return ~rows["strategy"].is_in(("CONSISTENT_HASH", "MACHINE_ROOM")) | (kinds == 2)


def _reason_is_known(rows: Rows) -> Values:
    has_none = rows["reason"].is_unknown()
    return (_is_replayed(rows) == has_none) & (has_none | rows["reason"].is_in(Reason))


def _shares_add_up(rows: Rows) -> Values:
    count = rows["member_count"]
    adds_up = rows["owned"].between(count * rows["min_queues_per_member"], count * rows["max_queues_per_member"])
    return _as_shown(rows) | adds_up


def _as_shown(rows: Rows) -> Values:
    """Owners may be what clients show, not what the strategy gives."""
    return (rows["waiting"].or_else(0) > 0) | (rows["following"].or_else(0) > 0)


def _duplicate_ids_leave_queues(rows: Rows) -> Values:
    has_duplicate_ids = _is_replayed(rows) & (rows["distinct_members"] < rows["member_count"])
    is_lost = has_duplicate_ids & (rows["queue_count"] >= rows["member_count"]) & _is_even(rows) & _all_subscribe(rows)
    return _as_shown(rows) | ~is_lost | ((rows["double_owned_queues"] > 0) & (rows["unassigned_queues"] > 0))


def _in_order(array: str, *fields: str) -> Holds:
    """Spark, Arrow and Java order texts alike as long as they are ASCII."""

    def holds(rows: Rows) -> Values:
        return ~rows.every(array, lambda it: it[fields[0]].matches(r"\A[ -~]*\z")) | rows.in_order(array, *fields)

    return holds


def _moves_are_possible(rows: Rows) -> Values:
    moved = rows["queues_moved"]
    return rows["minimum_moves"].between(0, moved) & (moved + rows["queues_preserved"] <= rows["queue_count"])


SUITE = Suite(
    REBALANCE_INTERVALS,
    prepare=with_neighbors_and_allocations,
    expectations=(
        Expectation(
            "intervals_of_a_view_do_not_overlap",
            "Intervals of one view do not overlap, nor do those of one broker's view and of all brokers' view.",
            _do_not_overlap,
        ),
        Expectation("intervals_leave_no_hole", "The intervals of a topic cover the whole step.", _leave_no_hole),
        Expectation("status_is_known", "The status is a value of the enum.", known_value("status", Status)),
        Expectation(
            "reason_is_known",
            "An interval that is not replayed has a reason; one that is replayed has none.",
            _reason_is_known,
        ),
        Expectation(
            "strategy_source_is_known",
            "The source of the strategy is a value of the enum.",
            known_value("strategy_source", StrategySource),
        ),
        Expectation("trigger_is_known", "The trigger is a value of the enum.", known_value("trigger_type", Trigger)),
        Expectation(
            "every_readable_queue_is_allocated_once",
            "A replayed interval has one allocation per readable queue, any other none.",
            lambda rows: (
                (_is_replayed(rows) & (rows["allocated"].or_else(0) == rows["queue_count"]))
                | (~_is_replayed(rows) & (rows["allocated"].or_else(0) == 0))
            ),
        ),
        Expectation(
            "unassigned_queues_are_counted",
            "The count equals that of the allocations.",
            lambda rows: ~_is_replayed(rows) | (rows["without"].or_else(0) == rows["unassigned_queues"]),
        ),
        Expectation(
            "double_owned_queues_are_counted",
            "The count equals that of the allocations, except those shared by POP.",
            lambda rows: ~_is_replayed(rows) | (rows["twice"].or_else(0) == rows["double_owned_queues"]),
        ),
        Expectation(
            "shares_add_up",
            "All owners together are between members × fewest queues and members × most queues.",
            _shares_add_up,
        ),
        Expectation(
            "even_strategies_are_even",
            "AVG and AVG_BY_CIRCLE: members differ by one queue at most, if ids are distinct and all members "
            "subscribe.",
            lambda rows: (
                ~(_ids_differ(rows) & _is_even(rows) & _all_subscribe(rows))
                | (rows["max_queues_per_member"] - rows["min_queues_per_member"] <= 1)
            ),
        ),
        Expectation(
            "even_strategies_leave_nothing",
            "AVG and AVG_BY_CIRCLE: every queue has an owner, or waits for a lock or a new route, if ids are distinct "
            "and all members subscribe.",
            lambda rows: (
                ~(_ids_differ(rows) & (rows["member_count"] > 0) & _is_even(rows) & _all_subscribe(rows))
                | (rows["unassigned_queues"] == rows["waiting"].or_else(0))
            ),
        ),
        Expectation(
            "nothing_is_owned_twice_without_a_reason",
            "No queue has two owners without duplicate ids, mixed strategies or clients, configured lists, or a "
            "changed route.",
            lambda rows: (
                ~(_ids_differ(rows) & ~rows["strategy"].is_in(("MIXED", "CONFIG")) & _compute_alike(rows))
                | (rows["double_owned_queues"] == 0)
                | (rows["following"].or_else(0) > 0)
            ),
        ),
        Expectation(
            "duplicates_leave_queues_unassigned",
            "AVG and AVG_BY_CIRCLE: a duplicate id leaves some queues with two owners and others unassigned, if there "
            "are enough queues.",
            _duplicate_ids_leave_queues,
        ),
        Expectation(
            "members_are_counted",
            "The counts of members and ids equal those of the list.",
            lambda rows: all_of(
                (
                    rows["member_count"] == rows["members"].size(),
                    rows["distinct_members"] == rows.distinct("members", "client_id"),
                )
            ),
        ),
        Expectation(
            "members_are_in_order",
            "Members are sorted by client id, as every client sorts them.",
            _in_order("members", "client_id"),
        ),
        Expectation(
            "queues_are_in_order",
            "Queues are sorted by broker and id, as every client sorts them.",
            _in_order("queues", "broker_name", "queue_id"),
        ),
        Expectation("moves_are_possible", "Queues moved are between the minimum and all queues.", _moves_are_possible),
    ),
)
