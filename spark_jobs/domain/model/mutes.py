"""Findings that somebody has said they know of: they are kept, and told to nobody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Mute(NamedTuple):
    """Findings of one group by this rule (None: by any) that begin before `until` (microseconds, None: ever)."""

    rule: str | None
    until: int | None
    reason: str


def mute_reason(mutes: Sequence[Mute], rule: str, start: int) -> str | None:
    """Why a finding that begins then is silenced: the reason of the first that fits; None: it is not."""
    fitting = (mute for mute in mutes if mute.rule in (None, rule) and (mute.until is None or start < mute.until))
    return next((mute.reason for mute in fitting), None)


def unreported_ids(findings: Iterable[tuple[str, str | None, str | None]]) -> frozenset[str]:
    """The ids of findings that are silenced, or whose root causes are. Of each: id, root's id, why it is silenced."""
    findings = list(findings)
    muted = {finding_id for finding_id, _, why in findings if why is not None}
    return frozenset(finding_id for finding_id, root, _ in findings if finding_id in muted or root in muted)
