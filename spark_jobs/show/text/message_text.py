"""The outcome of a message as lines of plain English, and for programs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import TypedDict

from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.window import from_micros, second_text
from spark_jobs.domain.phrases import UNKNOWN, joined_names, number_text
from spark_jobs.show.message import GroupMessage, MessageAnswer
from spark_jobs.show.message_outcome import SENTENCES
from spark_jobs.show.text.phrases import TextLine


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
    for start, end, owner_ids, cause, _ in message.facts.owners:
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


class OwnerSpanDocument(TypedDict):
    """A time in which clients owned the queue."""

    started_at: datetime
    ended_at: datetime
    client_ids: Sequence[str]
    double_owned_cause: str | None


class GroupMessageDocument(TypedDict):
    """The outcome of one message in one group; times are those of samples."""

    consumer_group: str
    offset: int
    outcome: str
    reason: str
    text: str
    stored_after: datetime | None
    stored_by: datetime | None
    passed_after: datetime | None
    passed_by: datetime | None
    went_back_at: datetime | None
    passed_again_by: datetime | None
    deleted_by: datetime | None
    owners: list[OwnerSpanDocument]
    retry_messages: int | None
    dead_letters: int | None


class MessageDocument(TypedDict):
    """The outcome in every group, of each message; docs/json-keys.txt says what its keys mean."""

    cluster: str
    topic: str
    broker_name: str
    queue_id: int
    interval: Interval
    messages: list[GroupMessageDocument]


def message_document(answer: MessageAnswer) -> MessageDocument:
    """The same for `--json`."""
    broker_name, queue_id = answer.place.queue
    return {
        "cluster": answer.cluster,
        "topic": answer.place.topic,
        "broker_name": broker_name,
        "queue_id": queue_id,
        "interval": answer.interval,
        "messages": [*map(_of_group, answer.messages)],
    }


def _of_group(message: GroupMessage) -> GroupMessageDocument:
    times = message.facts.times
    return {
        "consumer_group": message.consumer_group,
        "offset": message.offset,
        "outcome": message.outcome,
        "reason": message.reason,
        "text": _sentence(message),
        "stored_after": _moment(times.stored_after),
        "stored_by": _moment(times.stored_by),
        "passed_after": _moment(times.passed_after),
        "passed_by": _moment(times.passed_by),
        "went_back_at": _moment(times.went_back_at),
        "passed_again_by": _moment(times.passed_again_by),
        "deleted_by": _moment(times.deleted_by),
        "owners": [
            {
                "started_at": from_micros(start),
                "ended_at": from_micros(end),
                "client_ids": ids,
                "double_owned_cause": cause,
            }
            for start, end, ids, cause, _ in message.facts.owners
        ],
        "retry_messages": message.retry_messages,
        "dead_letters": message.dead_letters,
    }


def _moment(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
