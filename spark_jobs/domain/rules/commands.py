"""Commands of RocketMQ's `mqadmin` that an advice asks for, as templates of the names that an incident gives.

Options are those of RocketMQ 4.3.0, 4.9.8 and 5.3.3 (org.apache.rocketmq.tools.command), but 4.3.0 has no `-b` of
`consumerConnection`. Words in capitals stay for the reader: no snapshot has the address of a name server or a broker.
`{queues}` is one more than the highest queue id that the incident names.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from shlex import quote
from string import Formatter

BROKER_PERMISSION = "mqadmin updateBrokerConfig -n NAMESRV -b BROKER -k brokerPermission -v 6"
CLUSTER_LIST = "mqadmin clusterList -n NAMESRV"
CONNECTIONS = "mqadmin consumerConnection -n NAMESRV -g {group}"
CONNECTIONS_OF_A_BROKER = f"{CONNECTIONS} -b BROKER"
READ_PERMISSION = "mqadmin updateTopicPerm -n NAMESRV -b BROKER -t {topic} -p 6"
#: A number that is left out would be set to its default.
READ_QUEUES = "mqadmin updateTopic -n NAMESRV -b BROKER -t {topic} -r {queues} -w WRITE_QUEUES"
READ_AND_WRITE_QUEUES = "mqadmin updateTopic -n NAMESRV -b BROKER -t {topic} -r {queues} -w {queues}"
_RESET = "mqadmin resetOffsetByTime -n NAMESRV -g {group} -t {topic} -s "
RESET_TO_EARLIEST, RESET_TO_NOW = f"{_RESET}0", f"{_RESET}now"
ROUTE = "mqadmin topicRoute -n NAMESRV -t {topic}"
RUNNING_INFO = "mqadmin consumerStatus -n NAMESRV -g {group} -i {client}"
THREAD_DUMP = f"{RUNNING_INFO} -s"

#: Lines of an incident, at most: they show how, and the incident names the others.
_LINES = 3
_PLACEHOLDERS = {"group": "GROUP", "topic": "TOPIC", "client": "CLIENT_ID", "queues": "QUEUES"}


def as_written(template: str) -> str:
    """The command with words in capitals in place of the names."""
    return template.format(**_PLACEHOLDERS)


def filled(
    templates: Iterable[str], groups: Sequence[str], clients: Sequence[str], queues_of: Mapping[str, int | None]
) -> tuple[str, ...]:
    """The commands with these names, `NAMED` at most, and no command with unknown names. `queues_of`: by topic."""
    topics = [*islice(queues_of.items(), _LINES)] or [("", None)]
    of_each = product(templates, groups[:_LINES], clients[:_LINES] or [""], topics)
    lines = dict[str, None]()
    for template, group, client, (topic, queues) in of_each:
        names = {"group": group, "topic": topic, "client": client, "queues": queues or ""}
        if all(names[name] for _, name, _, _ in Formatter().parse(template) if name):
            lines[template.format(**{name: quote(str(value)) for name, value in names.items()})] = None
    return tuple(islice(lines, _LINES))
