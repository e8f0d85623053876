"""The calls for a group's members that brokers did not answer, brought to the group."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.pipeline.gather.kinds import READABLE, UNANSWERED

#: The request for a group's members, and what it may end with if no broker answers.
REQUEST = "connection"
FATES = ("FAILED", "TIMED_OUT", "REFUSED", "NOT_ASKED")
COLUMNS = ("cluster", "called", "subject", "fate", "error", "captured_at")
_STATE = ("cluster", "consumer_group", "name", READABLE)


def unanswered_states(calls: pa.Table) -> pa.Table:
    """One row per (group, broker, error) of these rows of `capture_calls`, as a state; `times`: of the calls, in
    microseconds. The fate stands for an error that is null. Calls to proxies are left out: they are no brokers.
    """
    calls = calls.filter(pc.invert(pc.starts_with(calls["called"], PROXY)))
    columns = {
        "cluster": calls["cluster"],
        "consumer_group": calls["subject"],
        "name": calls["called"],
        READABLE: pc.coalesce(calls["error"], calls["fate"]),
        "times": calls["captured_at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()),
    }
    states = pa.table(columns).group_by(_STATE).aggregate([("times", "list")]).rename_columns([*_STATE, "times"])
    key = {"kind": pa.repeat(UNANSWERED, len(states)), "fingerprint": pa.repeat(pa.scalar(0, pa.int64()), len(states))}
    return pa.table(key | dict(zip(states.column_names, states.columns, strict=True)))
