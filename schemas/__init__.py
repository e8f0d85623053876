"""The warehouse's tables, one module each; this is the only list of them."""

from schemas.allocations import ALLOCATIONS as ALLOCATIONS
from schemas.audit_runs import AUDIT_RUNS as AUDIT_RUNS
from schemas.backlog import BACKLOG as BACKLOG
from schemas.capture_calls import CAPTURE_CALLS as CAPTURE_CALLS
from schemas.checkpoints import CHECKPOINTS as CHECKPOINTS
from schemas.client_snapshots import CLIENT_SNAPSHOTS as CLIENT_SNAPSHOTS
from schemas.client_stacks import CLIENT_STACKS as CLIENT_STACKS
from schemas.coverage import COVERAGE as COVERAGE
from schemas.findings import FINDINGS as FINDINGS
from schemas.group_status import GROUP_STATUS as GROUP_STATUS
from schemas.incidents import INCIDENTS as INCIDENTS
from schemas.membership_snapshots import MEMBERSHIP_SNAPSHOTS as MEMBERSHIP_SNAPSHOTS
from schemas.notices import NOTICES as NOTICES
from schemas.offset_snapshots import OFFSET_SNAPSHOTS as OFFSET_SNAPSHOTS
from schemas.quality_results import QUALITY_RESULTS as QUALITY_RESULTS
from schemas.quarantine import QUARANTINE as QUARANTINE
from schemas.queue_progress import QUEUE_PROGRESS as QUEUE_PROGRESS
from schemas.rebalance_intervals import REBALANCE_INTERVALS as REBALANCE_INTERVALS
from schemas.route_snapshots import ROUTE_SNAPSHOTS as ROUTE_SNAPSHOTS
from schemas.sightings import SIGHTINGS as SIGHTINGS
from schemas.strategy_comparison import STRATEGY_COMPARISON as STRATEGY_COMPARISON
from schemas.table import Table as Table
from schemas.topic_snapshots import TOPIC_SNAPSHOTS as TOPIC_SNAPSHOTS
from schemas.views import VIEWS as VIEWS
from schemas.views import FlatView as FlatView

SOURCES: tuple[Table, ...] = (
    MEMBERSHIP_SNAPSHOTS,
    ROUTE_SNAPSHOTS,
    TOPIC_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    CLIENT_SNAPSHOTS,
)
#: An audit does without the oldest offsets of topics, and without what clients report about themselves.
OPTIONAL_SOURCES: tuple[Table, ...] = (TOPIC_SNAPSHOTS, CLIENT_SNAPSHOTS)
#: Recorded every `cadence_seconds`; the other sources are polled less often.
EVERY_CADENCE: tuple[Table, ...] = (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, OFFSET_SNAPSHOTS)
#: Replaced step by step by every run that audits the step.
OUTPUTS: tuple[Table, ...] = (
    REBALANCE_INTERVALS,
    ALLOCATIONS,
    QUEUE_PROGRESS,
    GROUP_STATUS,
    STRATEGY_COMPARISON,
    FINDINGS,
    COVERAGE,
    BACKLOG,
)
TABLES: tuple[Table, ...] = (
    *SOURCES,
    SIGHTINGS,
    *OUTPUTS,
    INCIDENTS,
    CHECKPOINTS,
    CAPTURE_CALLS,
    CLIENT_STACKS,
    QUARANTINE,
    QUALITY_RESULTS,
    AUDIT_RUNS,
    NOTICES,
)
