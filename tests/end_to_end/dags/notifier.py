"""A notifier of Airflow that writes what it is told to a file."""

from pathlib import Path
from typing import Any

from airflow.sdk import BaseNotifier


class FileNotifier(BaseNotifier):
    """Appends its rendered text."""

    template_fields = ("text",)

    def __init__(self, path: str, text: str) -> None:
        super().__init__()
        self.path, self.text = path, text

    def notify(self, context: Any) -> None:
        with Path(self.path).open("a", encoding="utf-8") as file:
            file.write(self.text + "\n")
