"""Commands that an incident prints can be pasted into a shell, and name only what the incident names."""

import shlex

import pytest

from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.domain.rules.commands import (
    A_BROKER,
    CONNECTIONS_OF_A_BROKER,
    READ_QUEUES,
    RESET_TO_EARLIEST,
    THREAD_DUMP,
    filled,
    look_for,
)

#: The options of each subcommand, as RocketMQ 5.3.3 has them; True: with a value.
MQADMIN = {
    "clusterList": {},
    "consumerConnection": {"-g": True, "-b": True},
    "consumerStatus": {"-g": True, "-i": True, "-s": False},
    "resetOffsetByTime": {"-g": True, "-t": True, "-s": True},
    "topicRoute": {"-t": True},
    "updateBrokerConfig": {"-b": True, "-k": True, "-v": True},
    "updateTopic": {"-b": True, "-t": True, "-r": True, "-w": True},
    "updateTopicPerm": {"-b": True, "-t": True, "-p": True},
}


@pytest.mark.parametrize(
    ("rule", "cause", "template"),
    [(rule.name, name, text) for rule in RULES for name, cause in rule.causes.items() for text in cause.commands],
)
def test_a_command_has_only_options_that_mqadmin_knows(rule: str, cause: str, template: str) -> None:
    (line,) = filled([template], ["g"], ["c"], {("t", "b"): 8})
    assert look_for(line)
    program, subcommand, name_server, address, *words = shlex.split(line)
    assert (program, name_server, address) == ("mqadmin", "-n", "NAMESRV")
    options = MQADMIN[subcommand]
    while words:
        words = words[2 if options[words[0]] else 1 :]


def test_names_are_quoted_for_the_shell() -> None:
    assert filled([THREAD_DUMP], ["pay; rm -rf /"], ["10.0.0.1@7#99"], {}) == (
        "mqadmin consumerStatus -n NAMESRV -g 'pay; rm -rf /' -i '10.0.0.1@7#99' -s",
    )


def test_a_command_without_one_of_its_names_is_left_out() -> None:
    assert filled([THREAD_DUMP], ["g"], [], {("t", "b"): 8}) == ()
    assert filled([RESET_TO_EARLIEST], ["g"], ["c"], {}) == ()
    assert filled([READ_QUEUES], ["g"], [], {("t", A_BROKER): None, ("t", "broker-b"): 8}) == (
        "mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_broker-b -t t -r 8 -w WRITE_QUEUES",
    )


def test_an_address_is_that_of_a_broker_by_its_name_where_that_is_known() -> None:
    command = "mqadmin consumerConnection -n NAMESRV -g g -b ADDRESS_OF_"
    assert filled([CONNECTIONS_OF_A_BROKER], ["g"], [], {}) == (f"{command}BROKER",)
    two = {("t", "a"): 4, ("t", "b"): 4, ("u", "a"): 1}
    assert filled([CONNECTIONS_OF_A_BROKER], ["g"], [], two) == (f"{command}a", f"{command}b")


def test_three_lines_are_enough_each_once() -> None:
    names = [f"n{number}" for number in range(50)]
    lines = filled([RESET_TO_EARLIEST], names, names, dict.fromkeys(((name, "b") for name in names), 8))
    assert lines == tuple(f"mqadmin resetOffsetByTime -n NAMESRV -g n0 -t n{place} -s 0" for place in range(3))
