"""What of a translated text is still English."""

import re

#: What stays as it is: code, commands, names of things, levels.
_KEPT = re.compile(
    r"`[^`]*`|(?:mqadmin|rebalance-audit) [^一-鿿]*|[\w%-]+ [\w.-]+:\d[\d,-]*|update broker config success"
    r"|issue #?\d+|[A-Z][\w.]*|[a-z]+[A-Z]\w*|[\w]+-[\w-]+|MiB|ms|<\w+>"
)
_ENGLISH = re.compile(
    r"\b[a-z]{2,} [a-z]{2,}\b|\b(?:the|of|is|are|and|in|no|to|was|at|from|with|by|unknown)\b", re.IGNORECASE
)


def untranslated(text: str) -> list[str]:
    """English words in it: two in a row, or one that only sentences have."""
    return _ENGLISH.findall(_KEPT.sub("·", text))
