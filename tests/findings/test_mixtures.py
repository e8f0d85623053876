"""Which clients do not compute alike: Spark says what plain Python says, and both what the table says."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.mixtures import Client, mixed_clients, mixed_strategies
from spark_jobs.findings.mixtures import mixed_clients as mixed_clients_column
from spark_jobs.findings.mixtures import mixed_strategies as mixed_strategies_column

#: language version strategy of each member (`-` is unknown) | mixed strategies | how the clients differ
_TABLE = """
    JAVA 493 AVG                                          | no  | -
    JAVA 493 AVG, JAVA 493 AVG                            | no  | -
    JAVA 493 AVG, JAVA 393 AVG                            | no  | -
    JAVA 493 AVG, JAVA 493 AVG_BY_CIRCLE                  | yes | -
    JAVA 493 AVG, JAVA 493 MACHINE_ROOM_NEARBY-AVG        | yes | -
    JAVA 393 AVG, JAVA 392 AVG                            | no  | DIFFERENT_INSTANCE_NAMES
    JAVA 392 AVG, JAVA - AVG                              | no  | -
    JAVA 392 AVG, - 493 AVG                               | no  | -
    JAVA 493 AVG, GO 493 AVG                              | no  | DIFFERENT_LANGUAGES
    JAVA 493 AVG, CPP 393 AVG, JAVA 300 AVG               | no  | DIFFERENT_LANGUAGES
    JAVA 493 AVG, - - AVG                                 | no  | -
    JAVA 493 CONSISTENT_HASH, GO 493 CONSISTENT_HASH      | no  | DIFFERENT_RULES
    JAVA 493 CONSISTENT_HASH, CPP 493 CONSISTENT_HASH     | no  | DIFFERENT_LANGUAGES
    JAVA 493 CONSISTENT_HASH, - 493 CONSISTENT_HASH       | no  | -
    GO 493 CONSISTENT_HASH, GO 300 CONSISTENT_HASH        | no  | -
    JAVA 493 CONSISTENT_HASH, JAVA 394 CONSISTENT_HASH    | no  | -
    JAVA 493 CONSISTENT_HASH, GO 493 AVG                  | yes | DIFFERENT_LANGUAGES
    JAVA 356 MACHINE_ROOM, JAVA 355 MACHINE_ROOM          | no  | DIFFERENT_RULES
    JAVA 355 MACHINE_ROOM, JAVA 353 MACHINE_ROOM          | no  | -
    JAVA 493 MACHINE_ROOM, JAVA 356 MACHINE_ROOM          | no  | DIFFERENT_INSTANCE_NAMES
    JAVA 493 MACHINE_ROOM, JAVA - MACHINE_ROOM            | no  | -
    JAVA 493 MACHINE_ROOM, GO 493 MACHINE_ROOM            | no  | DIFFERENT_RULES
    JAVA 355 MACHINE_ROOM, GO 493 MACHINE_ROOM            | no  | DIFFERENT_LANGUAGES
    JAVA 493 AVG, JAVA 355 AVG                            | no  | DIFFERENT_INSTANCE_NAMES
"""


def _case(line: str) -> tuple[list[Client], bool, str | None]:
    clients, mixed, cause = (cell.strip() for cell in line.split("|"))
    return [_client(text) for text in clients.split(",")], mixed == "yes", None if cause == "-" else cause


def _client(text: str) -> Client:
    language, version, strategy = text.split()
    return Client(None if language == "-" else language, None if version == "-" else int(version), strategy)


CASES = [_case(line) for line in _TABLE.strip().splitlines()]


def test_plain_python() -> None:
    for clients, mixed, cause in CASES:
        assert (mixed_strategies(clients), mixed_clients(clients)) == (mixed, cause), clients


def test_spark(spark: SparkSession) -> None:
    schema = "members array<struct<language: string, version: int, strategy: string>>, mixed boolean, cause string"
    found = spark.createDataFrame(CASES, schema).withColumns(
        {"m": mixed_strategies_column(F.col("members")), "c": mixed_clients_column(F.col("members"))}
    )
    assert found.where("NOT (m <=> mixed AND c <=> cause)").collect() == []
