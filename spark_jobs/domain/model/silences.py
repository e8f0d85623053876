"""Silences: findings that they cover are kept, but not sent as notifications."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Silence(NamedTuple):
    """Findings of one group by this rule (None: by any) that begin before `until` (microseconds, None: ever)."""

    rule: str | None
    until: int | None
    reason: str


def silence_reason(silences: Sequence[Silence], rule: str, start: int) -> str | None:
    """Why a finding that begins then is silenced: the reason of the first that fits; None: it is not."""
    fitting = (
        silence
        for silence in silences
        if silence.rule in (None, rule) and (silence.until is None or start < silence.until)
    )
    return next((silence.reason for silence in fitting), None)


def unreported_ids(findings: Iterable[tuple[str, str | None, str | None]]) -> frozenset[str]:
    """The ids of findings that are silenced, or whose root causes are. Of each: id, root's id, why it is silenced."""
    findings = list(findings)
    silenced = {finding_id for finding_id, _, why in findings if why is not None}
    return frozenset(finding_id for finding_id, root, _ in findings if finding_id in silenced or root in silenced)
