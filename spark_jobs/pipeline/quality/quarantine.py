"""Rows of a source that break a rule: set aside with every reason, and not used. Rows in = rows used + quarantined."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from math import isfinite
from typing import Any

from schemas import Table
from spark_jobs.pipeline.quality.facts import shown_value

#: Characters of a row, or of its key, that are kept.
_KEPT_CONTENT = 64 * 1024


def quarantined(
    table: Table, rows: Iterable[Mapping[str, Any]], reasons: Iterable[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Rows of `quarantine`, without their run, for rows of a source and their reasons; rows of equal text have
    different ids.
    """
    places = Counter[str]()
    for row, why in zip(rows, reasons, strict=True):
        text = _as_json(row)
        places[text] += 1
        yield {
            "quarantine_id": sha256(f"{table.name}\n{text}\n{places[text]}".encode()).hexdigest(),
            "source_table": table.name,
            "row_key": _as_json({name: row[name] for name in table.key if row[name] is not None})[:_KEPT_CONTENT],
            "reasons": why,
            "detail": f"cut: the row has so many characters: {len(text)}" if len(text) > _KEPT_CONTENT else None,
            "content": text[:_KEPT_CONTENT],
        }


def _as_json(row: Mapping[str, Any]) -> str:
    """The text that Spark's `to_json` gives."""
    return json.dumps(_finite(row), ensure_ascii=False, separators=(",", ":"), default=shown_value)


def _finite(value: Any) -> Any:
    """The value, with texts for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value
