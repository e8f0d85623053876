"""Tables, plain values and NumPy arrays as Arrow has them, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from schemas import Table, types
from spark_jobs.domain.model.history import UNKNOWN

if TYPE_CHECKING:
    from deltalake import Schema

_ARROW = {
    types.STRING: pa.string(),
    types.INTEGER: pa.int32(),
    types.LONG: pa.int64(),
    types.DOUBLE: pa.float64(),
    types.BOOLEAN: pa.bool_(),
    types.TIMESTAMP: pa.timestamp("us", "UTC"),
    types.DATE: pa.date32(),
}


def delta_schema(table: Table) -> Schema:
    """The columns of a table as delta-rs has them, with their comments."""
    from deltalake import Schema  # executors, which need the types only, have none

    return Schema.from_json(json.dumps(types.as_json(table.schema)))


@cache
def arrow_schema(table: Table) -> pa.Schema:
    """The columns of a table as Arrow has them, without their comments."""
    return arrow_fields(table.schema)


def arrow_fields(fields: Iterable[types.Field]) -> pa.Schema:
    """These columns as Arrow has them, without their comments."""
    return pa.schema([pa.field(field.name, arrow_type(field.type), field.nullable) for field in fields])


def arrow_type(type: types.Type) -> pa.DataType:
    """The type of one column."""
    if isinstance(type, types.Array):
        return pa.list_(arrow_type(type.element))
    if isinstance(type, types.Map):
        return pa.map_(pa.string(), pa.field("value", arrow_type(type.value), nullable=False))
    return pa.struct(list(arrow_fields(type))) if isinstance(type, types.Struct) else _ARROW[type]


#: Bytes of a batch that Python sends to Java, which has it in its direct memory as a whole, one per task.
_BATCH_BYTES = 16 * 1024**2


@cache
def _plainly(data_type: pa.DataType) -> Callable[[Any], Any] | None:
    """A function that makes a value as Arrow takes it: structs as dicts by field name, without what else the value has.
    None: every value is taken as it is.
    """
    if pa.types.is_map(data_type):
        return lambda value: None if value is None else [*value.items()]
    if pa.types.is_list(data_type):
        plainly = _plainly(data_type.value_type)

        def of_list(value: Any) -> list[Any] | None:
            items = value.items() if isinstance(value, Mapping) else value
            return None if items is None else [*items] if plainly is None else [*map(plainly, items)]

        return of_list
    return _of_struct(data_type) if pa.types.is_struct(data_type) else None


def _of_struct(data_type: pa.StructType) -> Callable[[Any], Any]:
    """Of a struct, by name where the value has names, else by place."""
    names = [field.name for field in data_type]
    nested = [(field.name, plainly) for field in data_type if (plainly := _plainly(field.type))]

    def of_struct(value: Any) -> dict[str, Any] | None:
        if value is None:
            return None
        if isinstance(value, Mapping):
            plain = {name: value.get(name) for name in names}
        elif isinstance(value, tuple) and not hasattr(value, "_fields"):
            plain = dict(zip(names, value, strict=True))
        else:
            plain = {name: getattr(value, name) for name in names}
        for name, plainly in nested:
            plain[name] = plainly(plain[name])
        return plain

    return of_struct


def from_values(values: Iterable[Any], data_type: pa.DataType) -> pa.Array:
    """One entry per value, None is null; times are microseconds since 1970."""
    plainly = _plainly(data_type)
    return pa.array([*values] if plainly is None else [*map(plainly, values)], type=data_type)


def columns_of(rows: Sequence[Mapping[str, Any]], fields: Iterable[pa.Field]) -> dict[str, pa.Array]:
    """A column per field, an entry per row; what a row does not have is null."""
    return {field.name: from_values([row.get(field.name) for row in rows], field.type) for field in fields}


def from_numbers(numbers: NDArray[np.int64], data_type: pa.DataType) -> pa.Array:
    """One entry per number, `UNKNOWN` is null; times are microseconds since 1970."""
    return pa.array(numbers, mask=numbers == UNKNOWN).cast(data_type)


def ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of all ranges `start … start + size − 1`, one range after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


def offsets_of(sizes: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """The indices at which the consecutive parts begin, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


def list_offsets(sizes: NDArray[np.int64], is_null: pa.Array) -> pa.Array:
    """The offsets of a list array: a null offset makes a list null."""
    mask = np.append(is_null.to_numpy(zero_copy_only=False), False)
    return pa.array(offsets_of(sizes), type=pa.int32(), mask=mask)


def sizes_of(lists: pa.ListArray) -> NDArray[np.int64]:
    """How many elements each list has; one that is null has none."""
    sizes: NDArray[np.int64] = pc.fill_null(pc.list_value_length(lists), 0).to_numpy().astype(np.int64)
    return sizes


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece; as it is where it is one already, which `combine_chunks` would copy."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def micros_of(times: pa.ChunkedArray) -> NDArray[np.int64]:
    """Times without nulls, in microseconds. Not by `to_numpy`, which loads pandas."""
    micros = one_array(times).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return np.asarray(np.from_dlpack(micros), np.int64)


def elements_of(lists: Mapping[str, pa.ListArray]) -> pa.ListArray:
    """Lists of equal sizes, one per field, as one of structs; an element is null where all of its fields are."""
    (first, *_), fields = lists.values(), [of_field.flatten() for of_field in lists.values()]
    may_be_null = all(of_field.null_count for of_field in fields)
    mask = reduce(pc.and_, map(pc.is_null, fields)) if may_be_null else None
    values = pa.StructArray.from_arrays(fields, [*lists], mask=mask)
    return pa.ListArray.from_arrays(list_offsets(sizes_of(first), pc.is_null(first)), values)


def completed(columns: Mapping[str, Any], schema: pa.Schema, size: int) -> pa.Table:
    """A table of this schema, of so many rows; null in the columns that are not given."""
    every = [columns.get(field.name, pa.nulls(size, field.type)) for field in schema]
    return pa.Table.from_arrays(every, schema=schema)


def in_batches(table: pa.Table) -> pa.Table:
    """The same rows, in batches of at most `_BATCH_BYTES`, or of one row."""
    return pa.Table.from_batches((part for batch in table.to_batches() for part in _parts(batch)), table.schema)


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes <= _BATCH_BYTES or len(batch) == 1:
        yield batch
        return
    half = len(batch) // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))
