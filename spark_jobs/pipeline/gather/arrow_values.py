"""Plain values and NumPy arrays as Arrow columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from spark_jobs.domain.model.history import UNKNOWN


def plain(value: Any, data_type: pa.DataType) -> Any:
    """The value as Arrow takes it: structs as dicts by field name, whatever else the value has is left out."""
    if value is None:
        return None
    if pa.types.is_list(data_type):
        items = value.items() if isinstance(value, Mapping) else value
        return [plain(item, data_type.value_type) for item in items]
    if pa.types.is_struct(data_type):
        parts = zip(data_type, _parts(value, data_type), strict=True)
        return {field.name: plain(part, field.type) for field, part in parts}
    return value


def _parts(value: Any, data_type: pa.StructType) -> Iterable[Any]:
    """The value's fields in the order of the type: by name where it has names, else by place."""
    if isinstance(value, Mapping):
        return [value.get(field.name) for field in data_type]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return value
    return [getattr(value, field.name) for field in data_type]


def from_values(values: Iterable[Any], data_type: pa.DataType) -> pa.Array:
    """One entry per value, None is null; times are microseconds since 1970."""
    return pa.array([plain(value, data_type) for value in values], type=data_type)


def from_numbers(numbers: NDArray[np.int64], data_type: pa.DataType) -> pa.Array:
    """One entry per number, `UNKNOWN` is null; times are microseconds since 1970."""
    return pa.array(numbers, mask=numbers == UNKNOWN).cast(data_type)


class Shared:
    """Values that are used many times: each is converted once, however often it is used.

    A value is known by `key`, by default its identity: it must live as long as this does.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.uses: list[int | None] = []
        self._places: dict[Hashable, int] = {}

    def use(self, value: Any, key: Hashable = None) -> None:
        """Adds one use; of None, a null."""
        if value is None:
            self.uses.append(None)
            return
        place = self._places.setdefault(id(value) if key is None else key, len(self.values))
        if place == len(self.values):
            self.values.append(value)
        self.uses.append(place)

    def column(self, data_type: pa.DataType) -> pa.Array:
        """One entry per use."""
        return from_values(self.values, data_type).take(pa.array(self.uses, type=pa.int64()))


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of all ranges `start … start + size − 1`, one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def offsets_of(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each of the consecutive parts begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)
