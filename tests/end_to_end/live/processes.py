"""Java processes that end with the test, however it ends, and the jars they need."""

import ctypes
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).parent
JARS = Path(sys.prefix) / "share" / "rebalance-audit"
_PR_SET_PDEATHSIG = 1
_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss512k")
_MODULES = (
    *("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.nio=ALL-UNNAMED"),
    *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
)
#: The first version of which the proxy's modules are on Maven Central, with those of the servers.
_WITH_PROXY = (5, 2, 0)
_LIBC = ctypes.CDLL(None, use_errno=True)


def servers(version: str) -> Path:
    """The folder with RocketMQ of that version and its clients."""
    pom = "pom.xml" if has_proxy(version) else "old/pom.xml"
    return fetched(HERE / pom, f"rocketmq-live-{version}", f"-Drocketmq={version}")


def has_proxy(version: str) -> bool:
    """Whether the version has a proxy, and all that the tests of today's versions need."""
    return tuple(map(int, version.split("."))) >= _WITH_PROXY


def grpc_client() -> Path:
    """The folder with RocketMQ's gRPC client."""
    return fetched(HERE / "grpc" / "pom.xml", "rocketmq-live-grpc")


def fetched(pom: Path, name: str, *options: str) -> Path:
    """The jars that the pom asks for, fetched by Maven if it is not there."""

    def fetch(folder: Path) -> None:
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
        subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(pom), *options, *goal], check=True)

    return kept(name, fetch)


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder, made if it is not there: all of it or nothing."""
    folder = JARS / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".live-") as scratch:
            made = Path(scratch, "made")
            made.mkdir()
            make(made)
            made.rename(folder)
    return folder


def compiled(jars: Path, source: str, folder: Path) -> str:
    """The class path with the program of this folder, compiled once: every JVM would do it again."""
    classes = folder / "classes" / jars.name
    if not (classes / source).with_suffix(".class").is_file():
        command = ["javac", "-nowarn", "-d", str(classes), "-cp", f"{jars}/*", str(HERE / source)]
        subprocess.run(command, check=True, capture_output=True)
    return f"{jars}/*:{classes}"


def java(
    class_path: str, main: str, arguments: Sequence[str], log: Path, heap_mb: int = 128, *options: str
) -> subprocess.Popen[bytes]:
    """A JVM whose output goes to the log, what RocketMQ logs to the folder of the same name; it is killed when this
    process ends.
    """
    command = ["java", f"-Xmx{heap_mb}m", *_OPTIONS, *_MODULES, f"-Duser.home={log.with_suffix('')}", *options]
    command += ["-cp", class_path, main, *arguments]
    return program(command, log)


def program(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """A process whose output goes to the log, and its home is beside it; it is killed when this process ends."""
    environment = {**os.environ, "HOME": str(log.with_suffix(""))}
    with log.open("ab") as output:
        return subprocess.Popen(command, stdout=output, stderr=output, env=environment, preexec_fn=die_with_parent)  # noqa: PLW1509


def die_with_parent() -> None:
    """Called in the child: the kernel kills it when the process that started it is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port() -> int:
    """A port of loopback at which nobody listens, with two free ones below it, as a broker wants. Linux gives outgoing
    connections no such port: they begin at 32768.
    """
    while True:
        port = secrets.choice(range(20_000, 32_000))
        if all(_is_free(other) for other in (port - 2, port - 1, port)):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def wait_listening(port: int) -> None:
    """Returns when somebody listens there."""
    wait_until(lambda: not _is_free(port), 180, lambda: f"nobody listens at port {port}")


def wait_until(
    condition: Callable[[], bool], seconds: float, describe: Callable[[], object] = str, every: float = 0.2
) -> None:
    """Returns when the condition holds; raises `TimeoutError`, with the description, if it does not in time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise TimeoutError(describe())
        time.sleep(every)


def kill(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    """Sends the signal; after a deadly one the process is gone when this returns."""
    os.kill(process.pid, number)
    if number not in (signal.SIGSTOP, signal.SIGCONT):
        process.wait(30)
