"""Commands of RocketMQ's `mqadmin` that an advice asks for, as templates of the names that an incident gives.

Options are those of RocketMQ 4.3.0, 4.9.8 and 5.3.3 (org.apache.rocketmq.tools.command), but 4.3.0 has no `-b` of
`consumerConnection`. Words in capitals stay for the reader: no snapshot has the address of a name server or a broker,
which `-b` takes; `{broker}` is the broker's name. `{queues}` is one more than the highest queue id that the incident
names.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from shlex import quote
from string import Formatter

BROKER_PERMISSION = "mqadmin updateBrokerConfig -n NAMESRV -b ADDRESS_OF_{broker} -k brokerPermission -v 6"
CLUSTER_LIST = "mqadmin clusterList -n NAMESRV"
CONNECTIONS = "mqadmin consumerConnection -n NAMESRV -g {group}"
CONNECTIONS_OF_A_BROKER = f"{CONNECTIONS} -b ADDRESS_OF_{{broker}}"
READ_PERMISSION = "mqadmin updateTopicPerm -n NAMESRV -b ADDRESS_OF_{broker} -t {topic} -p 6"
#: A number that is left out would be set to its default.
READ_QUEUES = "mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_{broker} -t {topic} -r {queues} -w WRITE_QUEUES"
READ_AND_WRITE_QUEUES = "mqadmin updateTopic -n NAMESRV -b ADDRESS_OF_{broker} -t {topic} -r {queues} -w {queues}"
_RESET = "mqadmin resetOffsetByTime -n NAMESRV -g {group} -t {topic} -s "
RESET_TO_EARLIEST, RESET_TO_NOW = f"{_RESET}0", f"{_RESET}now"
ROUTE = "mqadmin topicRoute -n NAMESRV -t {topic}"
RUNNING_INFO = "mqadmin consumerStatus -n NAMESRV -g {group} -i {client}"
THREAD_DUMP = f"{RUNNING_INFO} -s"

#: In place of the name of a broker that is not known.
A_BROKER = "BROKER"
#: By subcommand what to look for in its output.
_LOOK_FOR = {
    "clusterList": "Look for a broker without a line with #BID 0 (its master), and whether clients reach its #Addr.",
    "consumerConnection": "Look for a client id that comes twice, and for missing members or other subscriptions.",
    "consumerStatus": "Look for queues with many cached messages or an old pull; with -s for ConsumeMessageThread_.",
    "resetOffsetByTime": "Look for a line for each queue, with its new offset.",
    "topicRoute": "Look in queueDatas for each broker: perm 6 is read and write, 4 read only, 2 write only.",
    "updateBrokerConfig": "It prints: update broker config success.",
    "updateTopic": "It prints success, and readQueueNums and writeQueueNums as they are now.",
    "updateTopicPerm": "It prints the former and the new permission.",
}

#: Lines of an incident, at most: they show how, and the incident names the others.
_LINES = 3
_PLACEHOLDERS = {"group": "GROUP", "topic": "TOPIC", "client": "CLIENT_ID", "queues": "QUEUES", "broker": A_BROKER}


def as_written(template: str) -> str:
    """The command with words in capitals in place of the names."""
    return template.format(**_PLACEHOLDERS)


def filled(
    templates: Iterable[str],
    groups: Sequence[str],
    clients: Sequence[str],
    places: Mapping[tuple[str, str], int | None],
) -> tuple[str, ...]:
    """The commands with these names, `_LINES` at most, and no command with unknown names. `places`: by topic and broker
    (or `A_BROKER`) the number of queues.
    """
    of_each = product(templates, groups[:_LINES], clients[:_LINES] or [""], places.items() or [(("", A_BROKER), None)])
    lines = dict[str, None]()
    for template, group, client, ((topic, broker), queues) in of_each:
        names = {"group": group, "topic": topic, "broker": broker, "client": client, "queues": queues or ""}
        if all(names[name] for _, name, _, _ in Formatter().parse(template) if name):
            lines[template.format(**{name: quote(str(value)) for name, value in names.items()})] = None
        if len(lines) == _LINES:
            break
    return tuple(lines)


def look_for(command: str) -> str:
    """A sentence about the output of a command."""
    return _LOOK_FOR[command.split()[1]]
