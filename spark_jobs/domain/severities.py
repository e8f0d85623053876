"""How bad a finding is."""

from __future__ import annotations

SEVERITIES = ("INFO", "WARN", "ERROR")
WORST_FIRST = SEVERITIES[::-1]
