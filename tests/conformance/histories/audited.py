"""The published rows of all hand-written histories (`conftest.py` makes them), in the form of their tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Audited:
    """Of every cluster its findings and its rows of `queue_progress`, as dicts."""

    findings: dict[str, list[dict[str, Any]]]
    progress: dict[str, list[dict[str, Any]]]
