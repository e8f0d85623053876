"""Where the jars of RocketMQ's admin client are."""

from __future__ import annotations

import sys
from pathlib import Path

from spark_jobs.errors import SetupError

#: Set-up puts them there, once; nothing is resolved at start.
TOOLS_DIR = Path(sys.prefix) / "share" / "rebalance-audit" / "rocketmq-tools"


def check_tools(directory: Path) -> None:
    """Raises `SetupError` unless the jars are there."""
    if not any(directory.glob("*rocketmq-tools-*.jar")):
        raise SetupError(
            f"RocketMQ's admin client is not installed ({directory} has no rocketmq-tools): "
            f"run `{sys.executable} -m spark_jobs.setup.jars --capture` once, with network access"
        )
