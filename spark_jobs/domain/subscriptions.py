"""What members subscribe, in a form that can be compared."""

from __future__ import annotations

#: What RocketMQ puts before a group's name to name its retry topic.
RETRY = "%RETRY%"
#: Prefix of the topic to which a group's messages go that it could not consume in all tries.
DEAD_LETTERS = "%DLQ%"
#: The expression that lets every message through.
EVERYTHING = "*"
#: One topic with its normal expression; a client's subscriptions are a set of them.
Subscriptions = frozenset[tuple[str, str]]


def normal_expression(expression_type: str | None, text: str | None) -> str:
    """The expression in the one form of all that mean the same: tags sorted, `*` for everything.

    Source: `FilterAPI.buildSubscriptionData` (no tag, an empty text and `*` are all messages; tags between `||`).
    """
    if expression_type not in (None, "TAG"):
        return f"{expression_type} {text or ''}"
    tags = sorted({tag.strip(" ") for tag in (text or "").split("||")} - {""})
    return " || ".join(tags) or EVERYTHING
