"""Whether the members of a group subscribe the same, which RocketMQ demands and does not check."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

#: What RocketMQ puts before a group's name to name its retry topic.
RETRY = "%RETRY%"
#: One topic with its normal expression; a client's subscriptions are a set of them.
Subscriptions = frozenset[tuple[str, str]]


class MismatchCause(StrEnum):
    """How the subscriptions of a group's members differ; the first that applies."""

    DIFFERENT_TOPICS = "DIFFERENT_TOPICS"
    DIFFERENT_EXPRESSIONS = "DIFFERENT_EXPRESSIONS"


def normal_expression(expression_type: str | None, text: str | None) -> str:
    """The expression in the one form of all that mean the same: tags sorted, `*` for everything.

    Source: `FilterAPI.buildSubscriptionData` (no tag, an empty text and `*` are all messages; tags between `||`).
    """
    if expression_type not in (None, "TAG"):
        return f"{expression_type} {text or ''}"
    tags = sorted({tag.strip(" ") for tag in (text or "").split("||")} - {""})
    return " || ".join(tags) or "*"


def mismatch(known: Iterable[Subscriptions]) -> MismatchCause | None:
    """Why the subscriptions that are known do not fit together, retry topics left out; None: they do."""
    sets = set(known)
    if len({frozenset(topic for topic, _ in one) for one in sets}) > 1:
        return MismatchCause.DIFFERENT_TOPICS
    return MismatchCause.DIFFERENT_EXPRESSIONS if len(sets) > 1 else None
