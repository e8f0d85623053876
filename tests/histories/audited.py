"""What one audit of all hand-written histories published; `conftest.py` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Audited:
    """The row of `audit_runs`, and of every cluster its findings and its rows of `queue_progress`, as dicts."""

    run: dict[str, Any]
    findings: dict[str, list[dict[str, Any]]]
    progress: dict[str, list[dict[str, Any]]]
