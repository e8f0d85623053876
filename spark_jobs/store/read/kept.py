"""How far back the rows of a table reach, once `maintain` has deleted older ones."""

from datetime import datetime, timedelta

from schemas import GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, Table
from spark_jobs.domain.model.intervals import Interval, format_utc, parse_utc
from spark_jobs.errors import WarehouseError
from spark_jobs.store.read.stored import StoredTables

#: Property of a table whose older rows were deleted: the time from which on they are kept.
KEPT_SINCE = "rebalance_audit.kept_since"


def kept_since(stored: StoredTables, table: Table) -> datetime | None:
    """The time (UTC) before which rows were deleted; None: all are kept. Raises as `StoredTables.read`."""
    text = stored.properties(table).get(KEPT_SINCE)
    return parse_utc(text) if text else None


def check_kept(stored: StoredTables, steps: Interval, look_back: timedelta) -> None:
    """Raise `WarehouseError` if snapshots that an audit of the steps needs, with its `look_back`, were deleted."""
    since, needed = kept_since(stored, MEMBERSHIP_SNAPSHOTS), steps.start - look_back
    if since is not None and needed < since:
        raise WarehouseError(
            f"{steps} cannot be audited any more: it needs the snapshots from {format_utc(needed)} on, and "
            f"`maintain --keep-snapshots` has deleted those before {format_utc(since)}; its results stay as they are"
        )


def auditable_since(stored: StoredTables, look_back: timedelta) -> datetime | None:
    """The time before which steps cannot be audited, as snapshots or results were deleted; None: all can."""
    snapshots, results = (
        kept_since(stored, table) if stored.exists(table) else None for table in (MEMBERSHIP_SNAPSHOTS, GROUP_STATUS)
    )
    return max(filter(None, (snapshots and snapshots + look_back, results)), default=None)
