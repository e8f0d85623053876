"""The table `incidents`: what the command `incidents` shows, for SQL."""

from schemas import INCIDENTS
from spark_jobs.domain.incidents.carried import CHANGEABLE, Carried
from spark_jobs.domain.incidents.fold import in_order
from spark_jobs.domain.incidents.team_routes import TeamRoute, with_teams
from spark_jobs.domain.incidents.values import Incident
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros
from spark_jobs.pipeline.publish.claims import claim_incidents
from spark_jobs.show.checkpoints import checkpoint_at, fold_and_keep
from spark_jobs.show.incidents import incident_rows, was_seen_in
from spark_jobs.store.read.published import published_tables
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

_STATE = ("incident_id", "last_seen_at", "resolved_at")


def publish_incidents(
    stored: StoredTables, routes: tuple[TeamRoute, ...], interval: Interval | None = None
) -> list[Incident]:
    """Bring the table up to date with the newest run, and return the incidents that were seen in the interval.

    The fold continues from the newest checkpoint before all that was audited since it was made, whatever process did
    that; without a checkpoint or table, or without an interval, the whole history is folded. Raises
    `PublishConflictError` if another process does not finish, else as `published_incidents` and `StoredTables.replace`
    do.
    """
    with claim_incidents(stored.folder):
        tables = published_tables(stored)
        checkpoint = None if interval is None or not stored.exists(INCIDENTS) else checkpoint_at(tables)
        incidents, earlier = fold_and_keep(tables, checkpoint)
        folded = [with_teams(routes, incident) for incident in in_order(incidents)]
        if checkpoint is None:
            stored.replace(INCIDENTS, incident_rows(folded))
        else:
            _replace(stored, folded, earlier)
        return [incident for incident in folded if interval is None or was_seen_in(incident, interval)]


def _replace(stored: StoredTables, folded: list[Incident], earlier: Carried) -> None:
    """Replace the incidents that later steps than those `earlier` can change; the others stay as they are."""
    changed = {*earlier.incident_ids, *(incident.incident_id for incident in folded)}
    changeable = from_micros((earlier.before or 0) - CHANGEABLE)
    for incident_id, last_seen_at, resolved_at in tuples(stored.read(INCIDENTS, _STATE)):
        if resolved_at is None or last_seen_at >= changeable:
            changed.add(incident_id)
    if changed:
        stored.replace(INCIDENTS, incident_rows(folded), Filter("incident_id", "IN", sorted(changed)))
