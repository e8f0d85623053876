"""The outcome of every call of the recorder: who answered, who did not, and how long it took."""

from schemas.common import CLUSTER, recorded
from schemas.types import INTEGER, STRING, Field, required

CAPTURE_CALLS = recorded(
    "capture_calls",
    "One row per (cluster, who was called, request, subject, time): one call of the recorder and its outcome",
    (
        CLUSTER,
        required("called", STRING, "broker name, `name server`, or `proxy host:port`"),
        required("request", STRING, "what was asked, such as connection, stats, route or running"),
        required("subject", STRING, "group, topic, client id that it was about; * for none"),
    ),
    required(
        "outcome",
        STRING,
        "ANSWERED, NOT_ONLINE (the group has no connection there), NOT_IN_GROUP (the client has no consumer of "
        "the group), FAILED (another error answer), TIMED_OUT, REFUSED, or NOT_ASKED: not made, as the called "
        "process had not answered such a call a moment before",
    ),
    Field("took_ms", INTEGER, "milliseconds until the answer or error; null where the call was not made"),
    Field("error", STRING, "class and message of the exception; of NOT_ASKED that of the call before; null: none"),
    former={"outcome": "fate"},
)
