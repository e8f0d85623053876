"""The outcome of a message as lines of plain English, and for programs."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import UNKNOWN, joined_names, number_text
from spark_jobs.show.message import GroupMessage, MessageAnswer
from spark_jobs.show.message_outcome import SENTENCES
from spark_jobs.show.text.interval_text import TextLine

_STORED, _PASSED = ("stored_after", "stored_by"), ("passed_after", "passed_by")
_TIMES = (*_STORED, *_PASSED, "went_back_at", "passed_again_by", "deleted_by")


def message_lines(answer: MessageAnswer, zone: str) -> Iterator[TextLine]:
    """The outcome in each group, and what proves it; of two messages each statement once."""
    offsets = sorted({message.offset for message in answer.messages})
    which = f"Messages {offsets[0]} to {offsets[-1]}" if len(offsets) > 1 else f"Message {offsets[0]}"
    yield TextLine(f"{which} in {answer.place} (cluster {answer.cluster})", 0, "title")
    yield TextLine(f"By the samples of {answer.interval}. All times are {zone}.", 0)
    for group, messages in by_key(answer.messages, lambda message: message.consumer_group).items():
        yield TextLine("", 0)
        yield TextLine(f"{group}: {', '.join(dict.fromkeys(each.outcome for each in messages))}", 0, "title")
        sentences = [f"{each.offset}: {_sentence(each)}" if len(messages) > 1 else _sentence(each) for each in messages]
        proofs = chain.from_iterable(map(_proofs, messages))
        yield from (TextLine(text, 1) for text in dict.fromkeys((*sentences, *proofs)))


def _proofs(message: GroupMessage) -> Iterator[str]:
    times = _times(message)
    if times["stored_by"]:
        yield f"Stored between {times['stored_after'] or UNKNOWN} and {times['stored_by']}."
    for start, end, owner_ids, cause in message.facts.owners:
        names = joined_names(owner_ids) or "no member"
        yield f"Owner from {second_text(start)} to {second_text(end)}: {names}{f' ({cause})' if cause else ''}"
    if times["passed_by"]:
        retried, dead = number_text(message.retry_messages), number_text(message.dead_letters)
        yield f"Meanwhile the retry topic got {retried} messages, the dead letters {dead}."


def _sentence(message: GroupMessage) -> str:
    return SENTENCES[message.outcome, message.reason].format(**_times(message))


def _times(message: GroupMessage) -> dict[str, str | None]:
    times = {**message.facts.times._asdict(), "kept_since": message.facts.kept_since}
    return {name: None if at is None else second_text(at) for name, at in times.items()}


def message_document(answer: MessageAnswer) -> dict[str, Any]:
    """The same for `--json`."""
    broker_name, queue_id = answer.place.queue
    place = {"topic": answer.place.topic, "broker_name": broker_name, "queue_id": queue_id}
    messages = [*map(_of_group, answer.messages)]
    return {"cluster": answer.cluster, **place, "interval": answer.interval, "messages": messages}


def _of_group(message: GroupMessage) -> dict[str, Any]:
    owners = [
        {"started_at": from_micros(start), "ended_at": from_micros(end), "client_ids": ids, "double_owned_cause": cause}
        for start, end, ids, cause in message.facts.owners
    ]
    return {
        **{name: getattr(message, name) for name in ("consumer_group", "offset", "outcome", "reason")},
        "text": _sentence(message),
        **{name: _moment(getattr(message.facts.times, name)) for name in _TIMES},
        "owners": owners,
        **{name: getattr(message, name) for name in ("retry_messages", "dead_letters")},
    }


def _moment(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
