"""MIXED_STRATEGIES and MIXED_CLIENTS: members of one group that do not compute alike."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.domain.duplicates import UNIQUE_INSTANCE_NAME_VERSION
from spark_jobs.domain.mixtures import LAST_VERSION_WITH_ROOM_BUG, MixedClientsCause
from spark_jobs.domain.strategies import CONSISTENT_HASH, MACHINE_ROOM
from spark_jobs.findings.rule import Audited, Cause, Rule
from spark_jobs.findings.touches import nothing, parties, touches

MIXED_STRATEGIES, MIXED_CLIENTS = "MIXED_STRATEGIES", "MIXED_CLIENTS"
DIFFERENT_STRATEGIES = "DIFFERENT_STRATEGIES"
_SEVERITY = {
    MixedClientsCause.DIFFERENT_RULES: "ERROR",
    MixedClientsCause.DIFFERENT_LANGUAGES: "WARN",
    MixedClientsCause.DIFFERENT_INSTANCE_NAMES: "INFO",
}


def groups_of_mixed_strategies(audited: Audited) -> DataFrame:
    """One touch per interval whose members run different strategies; one condition per group."""
    return touches(
        _assigning(audited).where(mixed_strategies(F.col("members"))),
        MIXED_STRATEGIES,
        topic=nothing(),
        client_id=nothing(),
        cause=F.lit(DIFFERENT_STRATEGIES),
        severity=F.lit("ERROR"),
        parties=parties(F.col("members"), lambda member: member["strategy"]),
    )


def groups_of_mixed_clients(audited: Audited) -> DataFrame:
    """One touch per interval with unlike clients; one condition per group and cause."""
    found = _assigning(audited).withColumn("cause", mixed_clients(F.col("members"))).where("cause IS NOT NULL")
    severities = F.create_map(*(F.lit(text) for cause, severity in _SEVERITY.items() for text in (cause, severity)))
    return touches(
        found,
        MIXED_CLIENTS,
        topic=nothing(),
        client_id=nothing(),
        severity=severities[F.col("cause")],
        parties=parties(F.col("members"), lambda member: F.concat_ws(" ", member["language"], member["version"])),
    )


def _assigning(audited: Audited) -> DataFrame:
    """The intervals in which several members compute their shares themselves."""
    return audited.intervals.where("status = 'REPLAYED' AND size(members) > 1")


def mixed_strategies(members: Column) -> Column:
    """Whether members run different strategies; its plain twin is `domain.mixtures.mixed_strategies`."""
    return F.size(F.array_distinct(members["strategy"])) > 1


def mixed_clients(members: Column) -> Column:
    """How array<language, version, strategy> differ, as `domain.mixtures.mixed_clients` says; null: they do not."""
    rules = _distinct(F.transform(members, rules_of))
    java = F.filter(members, lambda m: m["language"] == "JAVA")
    by_nano_time = _distinct(F.transform(java, lambda m: m["version"] >= UNIQUE_INSTANCE_NAME_VERSION))
    return (
        F.when((F.size(rules) > 1) & ~mixed_strategies(members), MixedClientsCause.DIFFERENT_RULES.value)
        .when(F.size(_distinct(members["language"])) > 1, MixedClientsCause.DIFFERENT_LANGUAGES.value)
        .when(F.size(by_nano_time) > 1, MixedClientsCause.DIFFERENT_INSTANCE_NAMES.value)
    )


def rules_of(member: Column) -> Column:
    """Which implementation of its strategy a member runs; the reasons are with its plain twin in `domain.mixtures`."""
    language, strategy = member["language"], member["strategy"]
    is_go, is_java = language == "GO", language == "JAVA"
    old_java = member["version"] <= LAST_VERSION_WITH_ROOM_BUG
    in_room = F.when(is_go, "OLD").when(~is_java | ~old_java, "NEW").when(old_java, "OLD")
    return F.when(
        language.isNotNull(),
        F.when(strategy == CONSISTENT_HASH, F.when(is_go, "GO").otherwise("JAVA"))
        .when(strategy == MACHINE_ROOM, in_room)
        .otherwise("ALL"),
    )


def _distinct(values: Column) -> Column:
    """The different values that are known."""
    return F.array_distinct(F.filter(values, lambda value: value.isNotNull()))


STRATEGIES_RULE = Rule(
    name=MIXED_STRATEGIES,
    meaning="Members of one group run different allocation strategies. Each computes its share by its own, so queues "
    "are consumed twice and others by nobody (see UNASSIGNED_QUEUE and DOUBLE_OWNED_QUEUE for which). One finding per "
    "group; `parties` are the strategies with the clients that run them.",
    decided_by="the strategy class that each client reports, by configuration where a class is somebody's own. ERROR.",
    causes={
        DIFFERENT_STRATEGIES: Cause(
            "two members run different strategies",
            "Members run different allocation strategies: roll out one to all of them.",
        ),
    },
    example="`mixed-service`: two members run AVG, one AVG_BY_CIRCLE, for the whole recording.",
    touches=groups_of_mixed_strategies,
)

CLIENTS_RULE = Rule(
    name=MIXED_CLIENTS,
    meaning="Members of one group are clients of different languages, or of versions with different rules. One "
    "finding per group and cause; `parties` are the languages and version ordinals with their clients.",
    decided_by="language and version of the connections, as the broker lists them; unknown ones make no difference.",
    causes={
        MixedClientsCause.DIFFERENT_RULES: Cause(
            "CONSISTENT_HASH in Go and another language, or MACHINE_ROOM in Go or Java ≤ 4.7.1 and newer ones (ERROR)",
            "These clients compute the same strategy differently, so queues are consumed twice or by nobody: use one "
            "language, upgrade Java clients beyond 4.7.1, or change to AVG.",
        ),
        MixedClientsCause.DIFFERENT_LANGUAGES: Cause(
            "other languages (WARN)",
            "Clients of different languages share a group: their strategies agree only where they happen to be "
            "written alike. Give each language a group of its own, or compare what they own.",
        ),
        MixedClientsCause.DIFFERENT_INSTANCE_NAMES: Cause(
            "Java clients before and since 4.9.0 (INFO)",
            "Older clients name themselves ip@pid, which containers share: finish the upgrade.",
        ),
    },
    example="no group: all clients are Java 5.4.0.",
    touches=groups_of_mixed_clients,
)
