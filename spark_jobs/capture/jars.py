"""The place of the jars of RocketMQ's admin client."""

from pathlib import Path

from spark_jobs.errors import SetupError
from spark_jobs.installation import fetched

#: The version that is fetched unless another one is asked for.
ROCKETMQ = "5.4.0"
#: Set-up puts them there, once; nothing is resolved at start.
TOOLS_DIR = fetched("rocketmq-tools")


def check_tools(directory: Path) -> None:
    """Raises `SetupError` unless the jars are there."""
    if not any(directory.glob("*rocketmq-tools-*.jar")):
        raise SetupError(
            f"RocketMQ's admin client is not installed ({directory} has no rocketmq-tools): "
            f"run `rebalance-audit setup --capture` once, with network access, or with --from FOLDER"
        )
