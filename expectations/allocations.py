"""Laws of the allocations: a violation is a bug of the audit."""

from expectations.common import known_value
from expectations.rows import Rows, Values, codes, first_places, taken
from expectations.suite import Expectation, Suite, Tables
from schemas import ALLOCATIONS, REBALANCE_INTERVALS
from schemas.common import OF_INTERVAL
from spark_jobs.domain.model.causes import DoubleOwnedCause, UnassignedCause
from spark_jobs.domain.model.statuses import Status


def with_interval(allocations: Rows, tables: Tables) -> Rows:
    """Adds `status` and `known_end` of the interval that the row belongs to; null: there is none."""
    intervals = tables[REBALANCE_INTERVALS]
    places = first_places(*codes(OF_INTERVAL.names, allocations, intervals))
    return allocations.adding(
        status=taken(intervals["status"], places), known_end=taken(intervals["interval_end"], places)
    )


def _was_replayed_to_its_end(rows: Rows) -> Values:
    return ((rows["status"] == Status.REPLAYED) & (rows["known_end"] == rows["interval_end"])).or_else(False)


SUITE = Suite(
    ALLOCATIONS,
    prepare=with_interval,
    expectations=(
        Expectation(
            "interval_was_replayed",
            "Every allocation belongs to a replayed interval, and ends with it.",
            _was_replayed_to_its_end,
        ),
        Expectation(
            "unassigned_has_a_cause",
            "A queue has no owner if and only if it has a cause for that.",
            lambda rows: (rows["owners"].size() == 0) == rows["unassigned_cause"].is_known(),
        ),
        Expectation(
            "double_owned_has_a_cause",
            "A queue has several owners if and only if it has a cause for that.",
            lambda rows: (rows["owners"].size() > 1) == rows["double_owned_cause"].is_known(),
        ),
        Expectation(
            "causes_are_known",
            "Causes are values of the enums.",
            lambda rows: (
                known_value("unassigned_cause", UnassignedCause)(rows).or_else(True)
                & known_value("double_owned_cause", DoubleOwnedCause)(rows).or_else(True)
            ),
        ),
        Expectation(
            "unreadable_queues_have_no_owner",
            "An unreadable queue has no owner.",
            lambda rows: rows["readable"] | (rows["owners"].size() == 0),
        ),
        Expectation(
            "owners_are_connections",
            "Every owner has a client id, and appears once.",
            lambda rows: (
                rows.none_null("owners")
                & rows.every("owners", lambda owner: owner["client_id"].is_known())
                & (rows.distinct("owners", "client_id", "client_addr") == rows["owners"].size())
            ),
        ),
        Expectation(
            "queue_ids_are_0_to_65535", "A queue id is 0 to 65535.", lambda rows: rows["queue_id"].between(0, 65535)
        ),
    ),
)
