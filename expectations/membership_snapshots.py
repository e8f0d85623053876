"""Who was in a group, as a broker listed it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.common import CLUSTER, GROUP, captured, each, named, named_each, one_of, present
from expectations.suite import Expectation, Severity, Suite
from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS, Table
from spark_jobs.domain.unseen import PROXY

_GROUP = ("step_start", "cluster", "consumer_group")
_TOPIC = ("step_start", "cluster", "topic")


def with_amiss(memberships: DataFrame, others: Mapping[Table, DataFrame]) -> DataFrame:
    """Adds `amiss`: in the row's step, the group's answers are not those of the hosts of its topics; null: they are,
    or it is not known.

    Proxies are no hosts. Only names are compared, a few per group and step, and what differs is small enough for every
    task to have it.
    """
    # Whole lists are made distinct, as they are nearly always the same, before they become rows.
    lists = (F.size("connections") > 0).alias("lists")
    said = memberships.select(*_GROUP, "broker_name", lists, F.col("subscriptions.topic").alias("topics")).distinct()
    listed = others[ROUTE_SNAPSHOTS].select(*_TOPIC, F.col("queues.broker_name").alias("hosts")).distinct()
    routes = listed.select(*_TOPIC, F.explode("hosts").alias("host")).distinct()
    answers = said.groupBy(*_GROUP).agg(
        F.collect_set("broker_name").alias("answered"),
        F.collect_set(F.when(F.col("lists") & ~F.col("broker_name").startswith(PROXY), F.col("broker_name"))).alias(
            "listing"
        ),
        F.array_distinct(F.flatten(F.collect_set("topics"))).alias("topics"),
    )
    hosts = (
        answers.select(*_GROUP, "answered", "listing", F.explode("topics").alias("topic"))
        .join(routes, on=list(_TOPIC), how="left")
        .groupBy(*_GROUP, "answered", "listing")
        .agg(F.collect_set("host").alias("hosts"), F.every(F.col("host").isNotNull()).alias("all_known"))
    )
    silent = F.size(F.array_except("hosts", "answered")) > 0
    strange = F.col("all_known") & (F.size(F.array_except("listing", "hosts")) > 0)
    amiss = hosts.where(silent | strange).select(*_GROUP, F.lit(True).alias("amiss"))
    return memberships.join(F.broadcast(amiss), on=list(_GROUP), how="left")


SUITE = Suite(
    MEMBERSHIP_SNAPSHOTS,
    series=("cluster", "consumer_group", "broker_name"),
    prepare=with_amiss,
    expectations=(
        CLUSTER,
        GROUP,
        named("broker_name", "The broker that answered"),
        captured(),
        Expectation(
            "message_model_is_known",
            "The message model is CLUSTERING or BROADCASTING, or null where no member is online.",
            f"message_model IN {one_of(('CLUSTERING', 'BROADCASTING'))}",
        ),
        Expectation(
            "connections_are_there", "If no member is online, the array is empty, not null.", "connections IS NOT NULL"
        ),
        present("connections"),
        each(
            "client_ids_are_names",
            "Every connection has a client id of 1 to 255 characters.",
            "connections",
            named_each("client_id"),
        ),
        Expectation(
            "client_addresses_are_host_and_port",
            "The address of a connection is host:port.",
            r"it.client_addr RLIKE r'^.+:[0-9]{1,5}\z'",
            each="connections",
        ),
        present("subscriptions"),
        each(
            "subscribed_topics_are_names",
            "Every subscription names its topic, in 1 to 255 characters.",
            "subscriptions",
            named_each("topic"),
        ),
        Expectation(
            "request_modes_are_known",
            "A message request mode names its topic, and is PULL, or POP with its share count.",
            "coalesce(length(it.topic) BETWEEN 1 AND 255 AND (it.mode = 'PULL' OR (it.mode = 'POP' AND "
            "it.pop_share_queue_num IS NOT NULL)), false)",
            each="request_modes",
        ),
        Expectation(
            "brokers_are_the_hosts",
            "Every broker that hosts a topic of the group answers for it, and no other broker lists members, as far as "
            "the routes of its topics are known.",
            "NOT amiss",
            Severity.WARNING,
        ),
    ),
)
