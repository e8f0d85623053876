"""Spark gathers of the recording the same as is gathered without Spark."""

import pickle
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, StructField, StructType

from schemas import SOURCES
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.series import Series
from spark_jobs.pipeline.gather.gather import Gathered, over_groups
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.gather.without_spark import gathered
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.warehouse import Warehouse
from tests.spark.recording.conftest import EXAMPLE, RECORDING

pytestmark = pytest.mark.skipif(RECORDING != EXAMPLE, reason="the numbers are those of the recording of the project")

Histories = dict[str, GroupHistory]


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, recorded: Warehouse) -> Histories:
    found = Gathered.of({table: recorded.read(spark, table) for table in SOURCES})

    def of_part(states: pa.Table, samples: pa.Table) -> pa.Table:
        return pa.table({"history": pa.array(map(pickle.dumps, histories(states, samples)), pa.binary())})

    rows = over_groups(found, of_part, StructType([StructField("history", BinaryType())])).collect()
    return {history.consumer_group: history for history in (pickle.loads(row.history) for row in rows)}


@pytest.fixture(scope="module")
def without_spark(recorded: Warehouse) -> Histories:
    tables = DeltaTables(recorded)
    found = histories(*gathered({table: tables.read(table, table.columns) for table in SOURCES}))
    return {history.consumer_group: history for history in found}


def plain(value: Any) -> Any:
    """The value as lists and dicts; of a series the state at each time."""
    if isinstance(value, Series):
        return [(at, value.states[code]) for at, code in zip(value.times.tolist(), value.codes, strict=True)]
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_both_are_the_same_history_of_every_group(by_spark: Histories, without_spark: Histories) -> None:
    assert by_spark.keys() == without_spark.keys()
    for group, history in by_spark.items():
        assert plain(history) == plain(without_spark[group]), group
