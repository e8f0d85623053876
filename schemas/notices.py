"""Notifications of incidents that were sent: what was reported is not reported again."""

from schemas.common import CLUSTER
from schemas.table import Table
from schemas.types import STRING, TIMESTAMP, Array, Field, Struct, required

#: It is only ever appended to, without a JVM: so it has nothing that delta-rs cannot write (clustering, constraints).
NOTICES = Table(
    name="notices",
    comment="One row per notification that was sent",
    schema=Struct(
        required("target", STRING, "file of the route, or the name of --target"),
        CLUSTER,
        required(
            "incident_id", STRING, "incident; of events rejected, missing and back: an id of the cluster and time"
        ),
        required(
            "event",
            STRING,
            "opened, worse, resolved, withdrawn (not found by a later audit), rejected (a step), or missing and back "
            "(the audit of the cluster)",
        ),
        required("severity", STRING, "worst severity of its findings then"),
        required(
            "rule", STRING, "rule of its first root cause; QUALITY_GATE of rejected, AUDIT_MISSING of missing and back"
        ),
        required("headline", STRING, "one sentence"),
        required("consumer_groups", Array(STRING), "its consumer groups then"),
        required("opened_at", TIMESTAMP, "UTC"),
        Field("resolved_at", TIMESTAMP, "null: open"),
        required("last_seen_at", TIMESTAMP, "end of its last root cause then"),
        required("root_finding_ids", Array(STRING), "first and last finding of each root cause then"),
        required("audited_until", TIMESTAMP, "end of the cluster's newest audited step then"),
        required("sent_at", TIMESTAMP, "time of sending"),
        Field("resolution", STRING, "CLEARED, DELETED or TOPIC_DELETED; null: open"),
    ),
    key=("target", "incident_id", "event", "sent_at"),
)
