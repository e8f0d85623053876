"""The outcome of a message by the audit against what listeners wrote down."""

from collections.abc import Sequence

from spark_jobs.domain.model.window import SECOND
from spark_jobs.show.message import GroupMessage
from spark_jobs.show.message_outcome import MessageOutcome

#: A delivery is committed so many seconds later: 5 s pass between two commits, and a message may take some.
_UNCOMMITTED = 10


def is_right(message: GroupMessage, delivered: Sequence[float]) -> bool | None:
    """Return whether the outcome is that of a message that listeners got at these seconds since 1970, up to the last
    sample; None: the audit does not know it. Where it may have been consumed twice, once is right, too.
    """
    newest = (message.facts.times.newest or 0) / SECOND
    got = sum(at <= newest for at in delivered)
    match message.outcome:
        case MessageOutcome.CONSUMED:
            return got == 1
        case MessageOutcome.CONSUMED_TWICE:
            return got > 1
        case MessageOutcome.MAYBE_CONSUMED_TWICE:
            return got > 0
        case MessageOutcome.WAITING:
            before = 1 if message.facts.times.went_back_at else 0
            return sum(at <= newest - _UNCOMMITTED for at in delivered) <= before
        case MessageOutcome.UNKNOWN:
            return None
    return got == 0
