"""What all hand-written histories publish; `conftest.py` makes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Audited:
    """Of every cluster its findings and its rows of `queue_progress`, as dicts."""

    findings: dict[str, list[dict[str, Any]]]
    progress: dict[str, list[dict[str, Any]]]
