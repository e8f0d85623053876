"""Time-outs of clients: they count only if the broker through which the client was called answers itself."""

from collections.abc import Iterable, Iterator, Mapping

from schemas import CAPTURE_CALLS, CLIENT_SNAPSHOTS
from spark_jobs.ingest.recording import NoObservation, Outcome, Row

#: The request to a client, and the one that shows whether its broker answers.
_OF_CLIENT, _OF_BROKER = "running", "connection"
#: Outcomes of a call that brought no answer, and of one that was not made.
_NO_ANSWER, _NOT_MADE = ("TIMED_OUT", "REFUSED"), "NOT_ASKED"


def without_silent_brokers(outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """The outcomes of a recording in order, one per line. A client's time-out becomes no observation if its broker did
    not answer the last call for members. The line after it is that of its call, which names the broker.
    """
    answers: dict[object, bool] = {}
    silence: Row | None = None
    for outcome in outcomes:
        call = outcome.values if isinstance(outcome, Row) and outcome.table is CAPTURE_CALLS else {}
        if silence:
            yield _not_observed(silence) if _is_of_broker(silence, call, answers) else silence
        if call.get("request") == _OF_BROKER and call["outcome"] != _NOT_MADE:
            answers[call["called"]] = call["outcome"] not in _NO_ANSWER
        silence = _silence(outcome)
        if silence is None:
            yield outcome
    if silence:
        yield silence


def _is_of_broker(silence: Row, call: Mapping[str, object], answers: Mapping[object, bool]) -> bool:
    """Return whether the call is the client's, timed out here and not at the broker, and its broker is silent too."""
    is_its_call = call.get("request") == _OF_CLIENT and call["captured_at"] == silence.values["captured_at"]
    return is_its_call and call["outcome"] in _NO_ANSWER and not answers.get(call["called"], False)


def _silence(outcome: Outcome) -> Row | None:
    """The row of a client that did not answer, else None."""
    if isinstance(outcome, Row) and outcome.table is CLIENT_SNAPSHOTS and outcome.values["answered"] is False:
        return outcome
    return None


def _not_observed(silence: Row) -> NoObservation:
    return NoObservation(silence.line, _OF_CLIENT, "its broker does not answer either")
