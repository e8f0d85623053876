"""What somebody was told of incidents: the memory that lets each thing be told once."""

from schemas.common import CLUSTER
from schemas.table import Table, column, required
from schemas.types import STRING, TIMESTAMP, Array, Struct

#: It is only ever appended to, without a JVM: so it has nothing that delta-rs cannot write (clustering, constraints).
NOTICES = Table(
    name="notices",
    comment="One row per notice that was sent: (target, incident, what it said)",
    schema=Struct(
        [
            required("target", STRING, "who was told, by the name that was given to it"),
            CLUSTER,
            required("incident_id", STRING, "the incident, by the id that it had then"),
            required("told", STRING, "opened, worse, resolved, or withdrawn: audited again, it is not found any more"),
            required("severity", STRING, "INFO, WARN or ERROR: the worst of its findings then"),
            required("rule", STRING, "rule of its first root"),
            required("headline", STRING, "what happened, in a sentence"),
            required("groups", Array(STRING), "its consumer groups then"),
            required("opened_at", TIMESTAMP, "UTC"),
            column("resolved_at", TIMESTAMP, "UTC; null: it was open then"),
            required("last_seen_at", TIMESTAMP, "end of its last root then, UTC"),
            required(
                "root_finding_ids",
                Array(STRING),
                "the first and the last finding of each of its roots then: they tell it where its id has changed since",
            ),
            required("audited_until", TIMESTAMP, "end of the cluster's newest audited step then, UTC"),
            required("told_at", TIMESTAMP, "when it had been told, UTC"),
        ]
    ),
    key=("target", "incident_id", "told", "told_at"),
)
