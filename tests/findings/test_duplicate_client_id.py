"""Where a repeated client id comes from: Spark says what plain Python says, and both what the table says."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.duplicates import Connection, duplicate_cause
from spark_jobs.findings.duplicate_client_id import probable_cause

#: connections (host:port language version, `-` is unknown) | persistent | client id | cause
_TABLE = """
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | no  | 172.17.0.1@1         | STALE_CONNECTION
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 493 | no  | 172.17.0.1@1#99      | STALE_CONNECTION
    [::1]:1 JAVA 493, [::1]:2 JAVA 493       | no  | ::1@worker           | STALE_CONNECTION
    [::1]:1 JAVA 493, [::2]:2 JAVA 493       | no  | ::1@worker           | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | no  | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 392, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1@unit    | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 392 | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA -   | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 GO 500, 10.0.0.1:2 GO 500     | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 - -, 10.0.0.1:2 - -           | yes | 172.17.0.1@1         | CONTAINER_IDENTITY
    10.0.0.1:1 CPP 400, 10.0.0.2:1 CPP 400   | no  | 172.17.0.1@1#DEFAULT | CONTAINER_IDENTITY
    10.0.0.1:1 PYTHON -, 10.0.0.2:1 PYTHON - | yes | 172.17.0.1@1#DEFAULT | CONTAINER_IDENTITY
    10.0.0.1:1 JAVA 493, 10.0.0.2:1 JAVA 493 | yes | 172.17.0.1@1#DEFAULT | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 393, 10.0.0.1:2 JAVA 393 | yes | 172.17.0.1@1         | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, 10.0.0.2:1 JAVA 493 | no  | 172.17.0.1@1#x       | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1@\u0661    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 392, 10.0.0.2:1 JAVA 392 | yes | 172.17.0.1           | FIXED_INSTANCE_NAME
    - JAVA 493, - JAVA 493                   | no  | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, - JAVA 493          | no  | 172.17.0.1@worker    | FIXED_INSTANCE_NAME
    10.0.0.1:1 JAVA 493, 10.0.0.1:2 JAVA 493 | yes | 172.17.0.1@1#99      | CLONED_PROCESS
"""


class Case(NamedTuple):
    client_id: str
    connections: list[Connection]
    is_persistent: bool
    cause: str


def _case(line: str) -> Case:
    connections, persistent, client_id, cause = (cell.strip() for cell in line.split("|"))
    return Case(client_id, [_connection(text) for text in connections.split(", ")], persistent == "yes", cause)


def _connection(text: str) -> Connection:
    address, language, version = (None if word == "-" else word for word in text.split())
    return Connection(address, language, int(version) if version else None)


CASES = [_case(line) for line in _TABLE.strip().splitlines()]


def test_spark(spark: SparkSession) -> None:
    schema = (
        "client_id string, connections array<struct<client_addr: string, language: string, version: int>>, "
        "is_persistent boolean, cause string"
    )
    cause = probable_cause(F.col("client_id"), F.col("connections"), F.col("is_persistent"))
    rows = spark.createDataFrame(CASES, schema).withColumn("found", cause).where("NOT found <=> cause")
    assert rows.collect() == []


def test_plain_python() -> None:
    for case in CASES:
        assert duplicate_cause(case.client_id, case.connections, persistent=case.is_persistent) == case.cause, case
