"""What a person sees of an explanation: its lines, in colour and folded on a terminal, plain where nobody watches."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from spark_jobs.cli.terminal import SEVERITY_STYLES, printable
from spark_jobs.explain.text_view import TextLine

_INDENT = 2
_STYLES = {**SEVERITY_STYLES, "title": "bold", "heading": "italic", "advice": "green", "odd": "yellow"}


def show_explanation(console: Console, lines: Iterable[TextLine]) -> None:
    """The lines one below the other; what a line is too long for goes on below it, at its depth."""
    for line in lines:
        text, depth = Text(printable(line.text), style=_STYLES.get(line.part, "")), _INDENT * line.indent
        if console.is_terminal:
            console.print(Padding(text, (0, 0, 0, depth), expand=False))
        else:
            console.print(Text(" " * depth) + text, soft_wrap=True)
