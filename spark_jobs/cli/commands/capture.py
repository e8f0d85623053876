"""The command that records a live cluster; with a warehouse each file is loaded when it is closed."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from spark_jobs.capture.access import credentials
from spark_jobs.capture.capture import Capture, Settings
from spark_jobs.capture.jars import TOOLS_DIR, check_tools
from spark_jobs.capture.java_admin import ClusterAddress, start
from spark_jobs.cli.terminal import print_line, print_to_stderr, printable, show_next, until_told
from spark_jobs.errors import ExitCode
from spark_jobs.setup.java import check_java

if TYPE_CHECKING:
    from spark_jobs.cli.loading import Loading

_UNVERIFIED = (
    "warning: --tls verifies no server, so another one can receive and change the calls that the access key signs: "
    "add --tls-config FILE with tls.client.trustCertPath"
)


def capture_command(arguments: Namespace) -> int:
    """Exit code 0 when the time is up, and on SIGTERM and Ctrl-C. Raises `NotLoadedError`; what is recorded stays."""
    keys = credentials(os.environ, Path(arguments.access) if arguments.access else None)
    if keys and arguments.tls and not arguments.tls_config:
        print_to_stderr(_UNVERIFIED)
    check_java()
    check_tools(TOOLS_DIR)
    settings = _settings(arguments)
    loading = _loading(arguments, settings.folder) if arguments.warehouse else None
    tls_config = Path(arguments.tls_config) if arguments.tls_config else None
    address = ClusterAddress(settings.namesrv, keys, arguments.tls or tls_config is not None, tls_config)
    with closing(start(address, TOOLS_DIR)) as admin, loading or nullcontext():
        capture = Capture(settings, admin, loading.load if loading else lambda _: None)
        console = Console(stderr=True)
        with until_told(capture.stop), _rounds_on(console) as say:
            watched = _watching(loading, arguments.textfile, say) if loading else say
            capture.run(watched, lambda text: print_line(console, text))
    if loading is None:
        print(f"The recording is in {printable(str(settings.folder))}")
        show_next(f"ingest {shlex.quote(str(settings.folder))}/*.jsonl.gz", "./warehouse")
    return ExitCode.CLEAN


def _loading(arguments: Namespace, folder: Path) -> Loading:
    from spark_jobs.cli.loading import Loading  # imports pyspark, which a recording alone does not need

    return Loading(arguments.warehouse, folder, arguments.keep_recordings)


def _watching(loading: Loading, textfile: str | None, say: Callable[[str], None]) -> Callable[[str], None]:
    """After each round: write the metric, if there is a file for it, and end the recording once loading has failed."""

    def say_and_check(text: str) -> None:
        say(text)
        if textfile:
            loading.write_metric(Path(textfile))
        loading.check()

    return say_and_check


def _settings(arguments: Namespace) -> Settings:
    alike = ("namesrv", "cadence", "rate", "at_once", "once", "cluster_name", "groups", "stacks_after")
    given = {name: getattr(arguments, name) for name in alike}
    folder, proxies = Path(arguments.out), tuple(arguments.proxy or ())
    return Settings(folder=folder, duration=getattr(arguments, "for"), proxies=proxies, **given)


@contextmanager
def _rounds_on(console: Console) -> Iterator[Callable[[str], None]]:
    """Give a function that shows each round: in one line that changes on a terminal, else a line each."""
    if not console.is_terminal:
        yield lambda text: print_line(console, text)
        return
    with console.status("calling the cluster") as status:
        yield lambda text: status.update(printable(text))
