"""Lines of a recording; docs/recording-format.md tells what each kind holds."""

import json
from collections.abc import Mapping

from spark_jobs.capture.calls import Answer, Call, CallOutcome, Request

#: Kinds of line whose answers stand in the recording as they came.
_KEY_FIELDS: Mapping[Request, tuple[str, ...]] = {
    Request.ROUTE: ("topic",),
    Request.CONNECTION: ("group", "broker"),
    Request.RUNNING: ("group", "client"),
}


def meta(cluster: str, cadence: float, version: str, brokers: Mapping[str, str]) -> str:
    """The first line of a file: of what the lines below it tell; `brokers`: name → RocketMQ's own cluster."""
    return _line("meta", cluster=cluster, cadence_s=cadence, rocketmq=version, brokers=dict(brokers))


def answered(call: Call, answer: Answer, **extra: str) -> str:
    """The line of one call that was made: RocketMQ's text, or the error."""
    about = {"topic": call.topic, "group": call.group, "broker": call.called.name, "client": call.client}
    keys = {name: about[name] for name in _KEY_FIELDS[call.request]}
    result = {"error": answer.error} if answer.error else {"body": answer.body}
    return _line(call.request.value, at=answer.at, **keys, **result, **extra)


def of_several(request: Request, at: int, **fields: str) -> str:
    """The line of what several calls have brought, such as offsets of a topic, or of a part of what one has."""
    return _line(request.value, at=at, **fields)


def call_made(call: Call, answer: Answer) -> str:
    """The outcome of a call."""
    result: dict[str, object] = {"fate": answer.outcome.value, "tookMs": answer.took_ms, "error": answer.error or None}
    body = _json({name: value for name, value in result.items() if value is not None})
    about = {"called": call.called.name, "request": call.request.value, "subject": call.subject}
    return _line("call", at=answer.at, **about, body=body)


def is_recorded(call: Call, answer: Answer) -> bool:
    """Return whether the answer becomes a line at once: the call was made, and nothing is added to its answer."""
    return call.request in (Request.CONNECTION, Request.RUNNING) and answer.outcome is not CallOutcome.NOT_ASKED


def _line(kind: str, **fields: object) -> str:
    return _json({"kind": kind, **fields}) + "\n"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
