"""A check for a Java that runs Spark and RocketMQ's admin client: `python -m spark_jobs.setup.java`."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from spark_jobs.errors import SetupError

#: The Javas that Spark runs on, as docs/support.md says.
VERSIONS = (17, 21)


def check_java() -> None:
    """Raises `SetupError` unless the Java that Spark will start is one it supports (JAVA_HOME, else PATH)."""
    wanted = f"install Java {' or '.join(map(str, VERSIONS))} (any OpenJDK), or point JAVA_HOME at one"
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        answer = subprocess.run([java, "-version"], check=False, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        where = f"in JAVA_HOME ({home})" if home else "on the PATH"
        raise SetupError(f"no Java {where}: {wanted}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if not version or int(version[1]) not in VERSIONS:
        fault = f"is version {version[1]}" if version else "does not report its version"
        raise SetupError(f"{shutil.which(java) or java} {fault}: {wanted}")


if __name__ == "__main__":
    try:
        check_java()
    except SetupError as error:
        print(f"rebalance-audit: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
