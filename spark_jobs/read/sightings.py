"""Whether `sightings` has all that the snapshots show, asked of delta-rs: Spark takes half a minute for it."""

from __future__ import annotations

from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS
from spark_jobs.domain.message_queue import PERM_READ
from spark_jobs.read.delta import DeltaTables

_PER_HOUR = "date_trunc('hour', captured_at) AS hour, min(captured_at) AS first_at, max(captured_at) AS last_at"
_GROUPS = f"SELECT cluster, consumer_group, {_PER_HOUR} FROM {MEMBERSHIP_SNAPSHOTS.name} GROUP BY 1, 2, 3"
_BROKERS = (
    f"SELECT cluster, topic, entry['broker_name'] AS broker_name, {_PER_HOUR} "
    f"FROM (SELECT cluster, topic, captured_at, unnest(queues) AS entry FROM {ROUTE_SNAPSHOTS.name}) "
    f"WHERE entry['broker_name'] IS NOT NULL AND entry['perm'] & {PERM_READ} != 0 GROUP BY 1, 2, 3, 4"
)


def has_all_sightings(tables: DeltaTables) -> bool:
    """Whether the table holds what `ingest.sightings.sightings_of_sources` would bring into it; all three are there."""
    opened = {table: tables.open(table) for table in (MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, SIGHTINGS)}

    def holds(seen: str, *names: str) -> bool:
        same = " AND ".join(f"s.{name} = t.{name}" for name in ("cluster", *names, "hour"))
        same += " AND s.first_at >= t.first_at AND s.last_at <= t.last_at"
        lacking = f"SELECT 1 FROM ({seen}) s LEFT ANTI JOIN {SIGHTINGS.name} t ON {same} LIMIT 1"
        return not len(tables.query(lacking, opened))

    return holds(_GROUPS, "consumer_group") and holds(_BROKERS, "topic", "broker_name")
