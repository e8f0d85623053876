"""Answers that are tables: as Arrow, and so for pandas, Polars, DuckDB and notebooks."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from markupsafe import Markup, escape

from spark_jobs.domain.model.intervals import format_utc
from spark_jobs.domain.phrases import count, short_repr
from spark_jobs.store.read.stored import rows, tuples

if TYPE_CHECKING:
    import pandas as pd

#: Rows that a notebook and a text show, at most.
_ROWS, _LINES = 100, 20


class Tabular(ABC):
    """Rows of one grain, as dicts or by Arrow's stream interface (pyarrow, polars, DuckDB). UTC; null: unknown."""

    #: The columns that a notebook shows; empty: all.
    shown: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """All rows and columns."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(rows(self.to_arrow()))

    def to_pandas(self) -> pd.DataFrame:
        """The same; raises `ImportError` where pandas is not installed."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> Any:
        """The same, a `polars.DataFrame`; raises `ImportError` where Polars is not installed."""
        return import_module("polars").from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def __str__(self) -> str:
        table = self.to_arrow()
        flat = [field.name for field in table.schema if self.shown or not pa.types.is_nested(field.type)]
        first = table.select(list(self.shown or flat)).slice(0, _LINES)
        more = [f"and {table.num_rows - _LINES:,} more: see to_arrow()"] if table.num_rows > _LINES else []
        return "\n".join([count(table.num_rows, "row"), *map(row_text, rows(first)), *more])

    __repr__ = short_repr

    def _repr_html_(self) -> str:
        table = self.to_arrow().select(list(self.shown)) if self.shown else self.to_arrow()
        return str(Markup("<table><thead>{}</thead><tbody>{}</tbody></table>{}").format(
            _line("th", table.column_names),
            Markup("").join(_line("td", map(_cell, row)) for row in tuples(table.slice(0, _ROWS))),
            f"{table.num_rows:,} rows, of which {_ROWS} are shown" if table.num_rows > _ROWS else "",
        ))  # fmt: skip


def row_text(row: Mapping[str, Any]) -> str:
    """The row in logfmt: what is unknown has no value, and text that is not one plain word is quoted, as in JSON."""
    return " ".join(f"{name}={_word(value)}" for name, value in row.items())


def _word(value: Any) -> str:
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    text = "" if value is None else format_utc(value) if isinstance(value, datetime) else str(value)
    return text if re.fullmatch(r"[!#-<>-\[\]-~]*", text) else json.dumps(text)


def _line(cell: str, texts: Any) -> Markup:
    return Markup("<tr>{}</tr>").format(
        Markup("").join(Markup(f"<{cell}>{{}}</{cell}>").format(text) for text in texts)
    )


def _cell(value: Any) -> Markup:
    """An HTML cell; the parts of a list or struct stand one below the other."""
    if isinstance(value, (list, tuple)):
        return Markup("<br>").join(map(_cell, value))
    if isinstance(value, dict):
        return Markup("<br>").join(Markup("{}: {}").format(name, _cell(field)) for name, field in value.items())
    if value is None:
        return Markup("")
    return escape(format_utc(value) if isinstance(value, datetime) else value)


@dataclass(frozen=True, repr=False)
class PublishedRows(Tabular):
    """Rows of a published table, with its columns (docs/tables.md)."""

    rows: pa.Table

    def to_arrow(self) -> pa.Table:
        """The rows as they were read: nothing is copied."""
        return self.rows


def framed(page: str, height: int = 560) -> str:
    """A whole page as an element of a notebook: its scripts and styles stay its own. `height`: pixels."""
    return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: {height}px; border: 0"></iframe>'
