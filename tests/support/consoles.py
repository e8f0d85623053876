"""The text that a person sees on a console."""

import io
from collections.abc import Callable

from rich.console import Console


def shown(show: Callable[[Console], None], width: int = 80, *, on_terminal: bool = False) -> list[str]:
    """The lines without colors; on a terminal of that width there are tables."""
    console = Console(file=io.StringIO(), width=width, force_terminal=on_terminal, color_system=None)
    show(console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def cells(show: Callable[[Console], None], width: int = 80) -> list[list[str]]:
    """The words of each line on a terminal."""
    return [line.split() for line in shown(show, width, on_terminal=True)]
