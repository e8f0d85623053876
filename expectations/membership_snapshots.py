"""Who was in a group, as a broker listed it."""

from collections import defaultdict

import pyarrow as pa

from expectations.common import (
    CLUSTER,
    GROUP,
    SUBSCRIBED_TOPICS,
    captured,
    each,
    has_names,
    known_value,
    named,
    present,
    there,
)
from expectations.rows import Rows, Values
from expectations.suite import Expectation, Severity, Suite, Tables
from schemas import MEMBERSHIP_SNAPSHOTS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.unseen import PROXY
from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.domain.rocketmq.pop import PULL
from spark_jobs.domain.rocketmq.strategies import POP


def with_unexpected_answers(memberships: Rows, tables: Tables) -> Rows:
    """Add `is_unexpected`: others than the hosts of the group's topics answered in the step; false if unknown."""
    hosts = _hosts(tables[ROUTE_SNAPSHOTS])
    groups, broker = _keys(memberships, "consumer_group"), memberships["broker_name"].array.to_pylist()
    answered, listing, topics = (defaultdict[tuple[object, ...], set[str | None]](set) for _ in range(3))
    for group, name, size in zip(groups, broker, memberships["connections"].size().array.to_pylist(), strict=True):
        answered[group].add(name)
        if size and name and not name.startswith(PROXY):
            listing[group].add(name)
    subscribed, of_row = memberships.elements("subscriptions")
    for row, topic in zip(of_row.tolist(), subscribed["topic"].array.to_pylist(), strict=True):
        topics[groups[row]].add(topic)

    def has_unexpected(group: tuple[object, ...]) -> bool:
        known = [hosts.get((*group[:2], topic)) for topic in topics[group]]
        named = set[str | None]().union(*(brokers for brokers in known if brokers)) - {None}
        is_known = bool(known) and all(brokers and None not in brokers for brokers in known)
        strange = listing[group] - named if is_known else set()
        return bool(strange or named - answered[group])

    is_unexpected = {group: has_unexpected(group) for group in set(groups)}
    return memberships.adding(is_unexpected=pa.array([is_unexpected[group] for group in groups], pa.bool_()))


def _hosts(routes: Rows) -> dict[tuple[object, ...], set[str | None]]:
    """The brokers that a topic's routes name in a step, by step, cluster and topic."""
    keys = _keys(routes, "topic")
    entries, of_row = routes.elements("queues")
    hosts = defaultdict[tuple[object, ...], set[str | None]](set)
    for row, name in zip(of_row.tolist(), entries["broker_name"].array.to_pylist(), strict=True):
        hosts[keys[row]].add(name)
    return hosts


def _keys(rows: Rows, name: str) -> list[tuple[object, ...]]:
    """Step, cluster, and the group or topic of each row."""
    texts = (rows[column].array.to_pylist() for column in ("cluster", name))
    return [*zip(rows["step_start"].numbers().tolist(), *texts, strict=True)]


def _mode_is_known(it: Rows) -> Values:
    is_pop = (it["mode"] == POP) & it["pop_share_queue_num"].is_known()
    return (has_names("topic")(it) & ((it["mode"] == PULL) | is_pop)).or_else(False)


SUITE = Suite(
    MEMBERSHIP_SNAPSHOTS,
    prepare=with_unexpected_answers,
    expectations=(
        CLUSTER,
        GROUP,
        named("broker_name", "The broker that answered"),
        captured(),
        Expectation(
            "message_model_is_known",
            "The message model is CLUSTERING, BROADCASTING or LITE_SELECTIVE, or null where no member is online.",
            known_value("message_model", MessageModel),
        ),
        there("connections", "Without members the array is empty, not null."),
        present("connections"),
        each(
            "client_ids_are_names",
            "Every connection has a client id of 1 to 255 characters.",
            "connections",
            has_names("client_id"),
        ),
        each(
            "client_addresses_are_host_and_port",
            "The address of a connection is host:port.",
            "connections",
            lambda it: it["client_addr"].matches(r"\A[^\r\n\x{85}\x{2028}\x{2029}]+:[0-9]{1,5}\z"),
        ),
        present("subscriptions"),
        SUBSCRIBED_TOPICS,
        Expectation(
            "request_modes_are_known",
            "A message request mode names its topic, and is PULL, or POP with its share count.",
            lambda rows: rows.none_null("request_modes") & rows.every("request_modes", _mode_is_known),
        ),
        Expectation(
            "brokers_are_the_hosts",
            "By the known routes, every broker that hosts a topic of the group answers, and no other broker lists "
            "members.",
            lambda rows: ~rows["is_unexpected"],
            Severity.WARNING,
        ),
    ),
)
