"""Why a line goes to quarantine."""

from enum import StrEnum
from typing import Final

_LONGEST_DETAIL: Final = 1000


class RejectReason(StrEnum):
    """Values of `quarantine.reasons` for an input line; name and value are the same."""

    NOT_UTF8 = "NOT_UTF8"
    NOT_JSON = "NOT_JSON"
    LINE_TOO_LONG = "LINE_TOO_LONG"
    DAMAGED_FILE = "DAMAGED_FILE"
    UNKNOWN_KIND = "UNKNOWN_KIND"
    NO_CLUSTER = "NO_CLUSTER"
    BODY_UNREADABLE = "BODY_UNREADABLE"
    MISSING_FIELD = "MISSING_FIELD"
    WRONG_TYPE = "WRONG_TYPE"
    OUT_OF_RANGE = "OUT_OF_RANGE"
    LONE_SURROGATE = "LONE_SURROGATE"
    CONTRADICTION = "CONTRADICTION"
    CONFLICTING_KEY = "CONFLICTING_KEY"


class RejectedError(Exception):
    """One line cannot become a row; caught where its quarantine record is made, never seen by a user."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        # The detail may quote the line, of which nothing is known to be storable or short.
        self.detail = detail[:_LONGEST_DETAIL].encode(errors="backslashreplace").decode()
        self.reason = reason
        super().__init__(self.detail)
