"""Settings of a capture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Options of the user; times in seconds. `duration`: None for ever; `once`: one round, as fast as allowed."""

    namesrv: str
    folder: Path
    cadence: float = 20.0
    rate: float = 300.0
    at_once: int = 12
    duration: float | None = None
    once: bool = False
    file_seconds: float = 300.0
    cluster_name: str | None = None
    groups: re.Pattern[str] | None = None
    proxies: tuple[str, ...] = ()
