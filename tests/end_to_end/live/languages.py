"""Clients of other languages, and older ones of Java: built or fetched once, and kept beside the jars."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.live.processes import HERE, fetched, kept

#: How to install what builds them.
_INSTALL = {
    "go": "apt-get install golang-go, or https://go.dev/dl",
    "node": "apt-get install nodejs npm, or https://nodejs.org",
    "npm": "apt-get install npm",
    "mvn": "apt-get install maven",
}
_GO, _NODE, _PYTHON = "github.com/apache/rocketmq-client-go/v2", "rocketmq-client-nodejs", "rocketmq-python-client"
#: What older versions of the client need newer than they name it, to run as today's Go compiles it.
_OF_TODAY = ("github.com/json-iterator/go@v1.1.12", "github.com/modern-go/reflect2@v1.0.2")
NODE_VERSION, PYTHON_VERSION = "1.0.8", "5.1.2"


def need(*programs: str) -> None:
    """Skips the test if one of them is not installed, with the line that installs it."""
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed: {_INSTALL[program]}")


def go_consumer(version: str) -> list[str]:
    """The command of `consumer.go` with that version of rocketmq-client-go."""

    def build(folder: Path) -> None:
        shutil.copy(HERE / "consumer.go", folder)
        _run(folder, "go", "mod", "init", "live")
        _run(folder, "go", "get", f"{_GO}@v{version}", *_OF_TODAY)
        _run(folder, "go", "build", "-mod=mod", "-o", "consumer", ".")

    return [str(kept(f"live-go-queues-{version}", build) / "consumer")]


def node_consumer() -> list[str]:
    """The command of `consumer.js`."""

    def install(folder: Path) -> None:
        shutil.copy(HERE / "consumer.js", folder)
        _run(folder, "npm", "install", "--no-audit", "--no-fund", f"{_NODE}@{NODE_VERSION}")

    return ["node", str(kept(f"live-node-queues-{NODE_VERSION}", install) / "consumer.js")]


def python_consumer() -> list[str]:
    """The command of `python_consumer.py`, whose packages stand apart from those of the tests."""

    def install(folder: Path) -> None:
        shutil.copy(HERE / "python_consumer.py", folder)
        target = ["--target", str(folder), f"{_PYTHON}=={PYTHON_VERSION}"]
        _run(folder, sys.executable, "-m", "pip", "install", "--quiet", *target)

    return [sys.executable, str(kept(f"live-python-{PYTHON_VERSION}", install) / "python_consumer.py")]


def java_client(version: str) -> Path:
    """The folder with the Java client and the admin client of that version: servers of 4.9.8 are not on Central."""
    return fetched(HERE / "client" / "pom.xml", f"rocketmq-live-client-{version}", f"-Drocketmq={version}")


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, check=True, cwd=folder)
