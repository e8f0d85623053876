"""How bad a finding is."""

SEVERITIES = ("INFO", "WARN", "ERROR")
WORST_FIRST = SEVERITIES[::-1]
