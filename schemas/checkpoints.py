"""State after past days: answers and runs continue from it, so that they do not read the whole history."""

from schemas.table import Table
from schemas.types import LONG, STRING, TIMESTAMP, Field, Struct, array_of, fields, required

CHECKPOINTS = Table(
    name="checkpoints",
    comment="One row per day of the last eight, and per month: the state after all steps that begin before it. A run "
    "makes those that are missing, and again those of steps that were audited again",
    schema=Struct(
        required("before", TIMESTAMP, "start of the first step that is not in it"),
        required("step_seconds", LONG, "length of an audit step"),
        required("fold_version", LONG, "version of the fold that made it"),
        required("run_finished_at", TIMESTAMP, "end of the newest run that is in it"),
        required("group_status_version", LONG, "Delta version of group_status that it was made of"),
        Field(
            "audited_groups",
            array_of(*fields(STRING, "cluster", "consumer_group"), *fields(TIMESTAMP, "first_step", "last_step")),
            "every group with the starts of its first and its last audited step",
        ),
        Field(
            "audited_clusters",
            array_of(Field("cluster", STRING), *fields(TIMESTAMP, "last_step", "last_snapshot_at")),
            "every cluster with the start of the last step in which all its groups were audited, and its last snapshot",
        ),
        Field("carried", STRING, "incidents that later steps can change, as JSON"),
    ),
    key=("before",),
)
