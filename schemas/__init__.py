"""The warehouse's tables, one module each; this is the only list of them."""

from schemas.allocations import ALLOCATIONS
from schemas.audit_runs import AUDIT_RUNS
from schemas.capture_calls import CAPTURE_CALLS
from schemas.client_snapshots import CLIENT_SNAPSHOTS
from schemas.findings import FINDINGS
from schemas.group_status import GROUP_STATUS
from schemas.membership_snapshots import MEMBERSHIP_SNAPSHOTS
from schemas.notices import NOTICES
from schemas.offset_snapshots import OFFSET_SNAPSHOTS
from schemas.quality_results import QUALITY_RESULTS
from schemas.quarantine import QUARANTINE
from schemas.queue_progress import QUEUE_PROGRESS
from schemas.rebalance_intervals import REBALANCE_INTERVALS
from schemas.route_snapshots import ROUTE_SNAPSHOTS
from schemas.sightings import SIGHTINGS
from schemas.strategy_comparison import STRATEGY_COMPARISON
from schemas.table import Table
from schemas.topic_snapshots import TOPIC_SNAPSHOTS

SOURCES: tuple[Table, ...] = (
    MEMBERSHIP_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    CLIENT_SNAPSHOTS,
)
#: What the clients say of themselves is worth having and can be done without.
OPTIONAL_SOURCES: tuple[Table, ...] = (CLIENT_SNAPSHOTS,)
#: Replaced step by step by every run that audits the step.
OUTPUTS: tuple[Table, ...] = (
    REBALANCE_INTERVALS,
    ALLOCATIONS,
    QUEUE_PROGRESS,
    GROUP_STATUS,
    STRATEGY_COMPARISON,
    FINDINGS,
)
TABLES: tuple[Table, ...] = (
    *SOURCES,
    SIGHTINGS,
    *OUTPUTS,
    CAPTURE_CALLS,
    QUARANTINE,
    QUALITY_RESULTS,
    AUDIT_RUNS,
    NOTICES,
)

__all__ = [
    "ALLOCATIONS",
    "AUDIT_RUNS",
    "CAPTURE_CALLS",
    "CLIENT_SNAPSHOTS",
    "FINDINGS",
    "GROUP_STATUS",
    "MEMBERSHIP_SNAPSHOTS",
    "NOTICES",
    "OFFSET_SNAPSHOTS",
    "OPTIONAL_SOURCES",
    "OUTPUTS",
    "QUALITY_RESULTS",
    "QUARANTINE",
    "QUEUE_PROGRESS",
    "REBALANCE_INTERVALS",
    "ROUTE_SNAPSHOTS",
    "SIGHTINGS",
    "SOURCES",
    "STRATEGY_COMPARISON",
    "TABLES",
    "TOPIC_SNAPSHOTS",
    "Table",
]
