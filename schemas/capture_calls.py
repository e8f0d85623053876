"""The outcome of every call of the recorder: who answered, who did not, and how long it took."""

from schemas.common import CLUSTER, recorded
from schemas.types import INTEGER, STRING, Field, required

CAPTURE_CALLS = recorded(
    "capture_calls",
    "One row per call of the recorder",
    (
        CLUSTER,
        required("called", STRING, "broker name, `name server`, or `proxy host:port`"),
        required("request", STRING, "request, such as connection, stats, route or running"),
        required("subject", STRING, "group, topic or client id; * for none"),
    ),
    required("outcome", STRING, "ANSWERED, NOT_ONLINE, NOT_IN_GROUP, FAILED, TIMED_OUT, REFUSED, NOT_ASKED (skipped)"),
    Field("took_ms", INTEGER, "milliseconds until the answer or error; null: not made"),
    Field("error", STRING, "exception; of NOT_ASKED that of the call before; null: none"),
)
