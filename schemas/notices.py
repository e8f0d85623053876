"""Notices of incidents that were sent: what was reported is not reported again."""

from schemas.common import CLUSTER
from schemas.table import Table
from schemas.types import STRING, TIMESTAMP, Array, Field, Struct, required

#: It is only ever appended to, without a JVM: so it has nothing that delta-rs cannot write (clustering, constraints).
NOTICES = Table(
    name="notices",
    comment="One row per notice that was sent: (target, incident, event)",
    schema=Struct(
        required("target", STRING, "who received the notice: the file of the route, or the name given as --target"),
        CLUSTER,
        required("incident_id", STRING, "id of the incident at that time"),
        required("event", STRING, "opened, worse, resolved, or withdrawn: a later audit no longer finds it"),
        required("severity", STRING, "INFO, WARN or ERROR: the worst of its findings at that time"),
        required("rule", STRING, "rule of its first root"),
        required("headline", STRING, "what happened, in a sentence"),
        required("consumer_groups", Array(STRING), "its consumer groups at that time"),
        required("opened_at", TIMESTAMP, "UTC"),
        Field("resolved_at", TIMESTAMP, "UTC; null: it was still open"),
        required("last_seen_at", TIMESTAMP, "end of its last root at that time, UTC"),
        required(
            "root_finding_ids",
            Array(STRING),
            "first and last finding of each of its roots at that time: they identify it if its id has changed",
        ),
        required("audited_until", TIMESTAMP, "end of the cluster's newest audited step at that time, UTC"),
        required("sent_at", TIMESTAMP, "when the notice was sent, UTC"),
        Field(
            "resolution",
            STRING,
            "CLEARED; DELETED, TOPIC_DELETED: its group, or topic, was deleted; null: it was open",
        ),
    ),
    key=("target", "incident_id", "event", "sent_at"),
    former={
        "event": "told",
        "consumer_groups": "groups",
        "sent_at": "told_at",
    },
)
