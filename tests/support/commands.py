"""Commands as people type them, run in the process of the test."""

import json
import shlex
from typing import Any, NamedTuple, Protocol

import pytest

from spark_jobs.cli.main import main

#: The exit codes of a command that answers: nothing is wrong, something is, or a part is unknown.
ANSWERED = (0, 1, 2)


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def document(self) -> Any:
        """What a program reads."""
        return json.loads(self.out)


class Typed(Protocol):
    def __call__(
        self, line: str, *words: object, warehouse: object = None, code: int | tuple[int, ...] = 0
    ) -> Printed: ...


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    """Types a line, with more words behind it, about a warehouse; the command must end with the code."""

    def run(line: str, *words: object, warehouse: object = None, code: int | tuple[int, ...] = 0) -> Printed:
        command, options = shlex.split(line)[:1], shlex.split(line)[1:]
        about = [] if warehouse is None else ["--warehouse", str(warehouse)]
        capsys.readouterr()
        ended = main([*command, *about, *options, *map(str, words)])
        printed = Printed(*capsys.readouterr())
        assert ended in (code if isinstance(code, tuple) else (code,)), printed
        return printed

    return run
