"""How bad a finding is."""

from enum import StrEnum


class FindingSeverity(StrEnum):
    """ERROR: harm; WARN: waste, or by design; INFO: it ends by itself, or no message was affected."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


INFO, WARN, ERROR = FindingSeverity
SEVERITIES = tuple(FindingSeverity)
WORST_FIRST = SEVERITIES[::-1]
