"""Text that `mqadmin consumerConnection` prints → the members of a group.
Source: `ConsumerConnectionSubCommand`; 4.8 and earlier number the lines, later versions print headers.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spark_jobs.domain.model.history import RETRY
from spark_jobs.errors import InputFileError
from spark_jobs.ingest.logs.events import GroupState, Listed, LoggedConnection, Subscription

_SUFFIX: Final = ".txt"
_SUBSCRIPTIONS: Final = "Below is subscription:"
_NOT_ONLINE = re.compile(r"the consumer group\[(?P<group>[^]]+)\] not online")
_MEMBER = re.compile(r"(?:\d{3,}  )?(?P<client>\S+) +(?P<address>\S+:\d+) +(?P<language>[A-Z_]+) +(?P<version>\w+)\s*$")
_OLD_SUBSCRIPTION = re.compile(r"\d{3,}  Topic: (?P<topic>\S+) +SubExpression: (?P<string>.*)$")
_SUBSCRIPTION = re.compile(r"(?P<topic>[^#\s]\S*) +(?P<string>.*)$")
_PROPERTY = re.compile(r"(?P<name>ConsumeType|MessageModel|ConsumeFromWhere): (?P<value>\w+)")
_LAST: Final = "ConsumeFromWhere"
_VERSION = re.compile(r"V([4-9])_(\d)_(\d)(_SNAPSHOT)?")


def is_printed(path: Path) -> bool:
    """Return whether the file is such a text: `.txt`, with a list of members or the message that there are none."""
    text = path.read_text("utf-8", errors="replace") if path.suffix == _SUFFIX else ""
    return _SUBSCRIPTIONS in text or bool(_NOT_ONLINE.search(text))


def listed_in(path: Path) -> Iterator[Listed]:
    """Members per printed command; the retry topic or the file names the group. Raises `InputFileError` if cut off."""
    members, subscriptions, properties = [], [], {}
    of_topics = False
    for printed in path.read_text("utf-8", errors="replace").splitlines():
        of_topics |= printed.startswith(_SUBSCRIPTIONS)
        line = printed.removeprefix(_SUBSCRIPTIONS)
        if not_online := _NOT_ONLINE.search(line):
            yield Listed(not_online["group"], GroupState())
        elif named := _PROPERTY.match(line):
            properties[named["name"]] = named["value"]
        elif not of_topics and (member := _MEMBER.match(line)):
            members.append(
                LoggedConnection(member["address"], member["client"], member["language"], _number(member["version"]))
            )
        elif of_topics and (subscribed := _OLD_SUBSCRIPTION.match(line) or _SUBSCRIPTION.match(line)):
            subscriptions.append(Subscription(subscribed["topic"], None, subscribed["string"].strip(), None))
        if _LAST in properties:
            yield _listed(path, members, subscriptions, properties)
            members, subscriptions, properties, of_topics = [], [], {}, False
    if members or of_topics:
        raise InputFileError(f"{path} is cut off: print the connections again")


def _listed(
    path: Path, members: list[LoggedConnection], subscriptions: list[Subscription], properties: dict[str, str]
) -> Listed:
    retried = (entry.topic.removeprefix(RETRY) for entry in subscriptions if entry.topic.startswith(RETRY))
    consume_type, model, where = (properties.get(name) for name in ("ConsumeType", "MessageModel", _LAST))
    state = GroupState(tuple(members), consume_type, model, where, tuple(sorted(subscriptions)))
    return Listed(next(retried, path.stem), state)


def _number(version: str) -> int | None:
    """The number of a version in heartbeats; None: before 4.0.0.
    Source: `MQVersion`: since 4.0.0 a minor version has ten patches, each with a snapshot and a release.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    major, minor, patch = map(int, match.group(1, 2, 3))
    return 213 + 200 * (major - 4) + 20 * minor + 2 * patch - bool(match[4])
