"""Other names for those of snapshots, in the same order: clients allocate queues by the order of names."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from ipaddress import AddressValueError, IPv4Address
from typing import Any, Final

from spark_jobs.domain.kernel.members import is_grpc
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP, PROXY
from spark_jobs.domain.model.history import DEAD_LETTERS, EVERYTHING, RETRY
from spark_jobs.domain.model.message_queue import java_order
from spark_jobs.domain.rocketmq.strategies import STRATEGY_OF_CLASS
from spark_jobs.domain.rocketmq.system_names import SYSTEM_TOPIC, is_of_users, is_topic_of
from spark_jobs.errors import OutputError
from spark_jobs.show.recorder import is_of_library, method_of

#: A part of a name: what kind of name it is (None: it stays as it is), and its text. That of a name before an `@` ends
#: with it, as the order of composed names depends on it; it is none of the new name.
Part = tuple[str | None, str]

_ROCKETMQ: Final = "org.apache.rocketmq."
#: Words of instance names that say how a client got its id.
_KNOWN_WORDS: Final = frozenset(("", "DEFAULT", "STREAM"))
_ERROR: Final = re.compile(r"\b\w+Exception\b|\bcode:? \d+\b", re.IGNORECASE)


class NewNames:
    """New names of everything that rows name: all rows are added, then `order` gives the names, then rows can be
    renamed. The names of the `consumer_groups` are parts of those of retry topics.
    """

    def __init__(self, consumer_groups: Iterable[str]) -> None:
        groups = sorted(consumer_groups, key=len, reverse=True)
        self._parts_of: dict[str, Callable[[str], Iterator[Part]]] = {**_PARTS, "topic": partial(_topic, groups=groups)}
        self._parts: dict[str, set[str]] = defaultdict(set)
        self._new: dict[str, dict[str, str]] = defaultdict(dict)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take note of all names in a row of a source table."""
        self._walk(row, self._note)

    def order(self) -> None:
        """Give every name its new one. Raises `OutputError` if new client ids or brokers would be in another order."""
        new: dict[str, dict[str, str]] = {}
        for kind, parts in self._parts.items():
            in_order = sorted(parts, key=java_order)
            new[kind] = dict(zip(in_order, _NEW.get(kind, partial(_numbered, kind))(in_order), strict=True))
        for field, names in self._new.items():
            for name in names:
                parts_of_name = self._parts_of[field](name)
                names[name] = "".join(part if kind is None else new[kind][part] for kind, part in parts_of_name)
            in_order = [names[name] for name in sorted(names, key=java_order)]
            if field in _ALLOCATED_BY and in_order != sorted(in_order, key=java_order):
                raise OutputError(f"no other names of {field} keep their order: export without --anonymous")

    def renamed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row under the new names."""
        of_new: dict[str, Any] = self._walk(row, lambda field, name: self._new[field][name])
        return of_new

    def _walk(self, value: Any, name: Callable[[str, str], str], field: str = "") -> Any:
        if isinstance(value, Mapping):
            return {key: self._walk(child, name, key) for key, child in value.items()}
        if isinstance(value, list):
            return [self._walk(child, name, field) for child in value]
        return name(field, value) if isinstance(value, str) and field in self._parts_of else value

    def _note(self, field: str, name: str) -> str:
        if name not in self._new[field]:
            self._new[field][name] = name
            for kind, part in self._parts_of[field](name):
                if kind is not None:
                    self._parts[kind].add(part)
        return name


def _plain(kind: str) -> Callable[[str], Iterator[Part]]:
    def parts(text: str) -> Iterator[Part]:
        yield kind, text

    return parts


def _group(text: str) -> Iterator[Part]:
    yield None if text == PROXIES_GROUP or not is_of_users(text) else "group", text


def _topic(text: str, groups: Sequence[str]) -> Iterator[Part]:
    prefix = next((prefix for prefix in (RETRY, DEAD_LETTERS, SYSTEM_TOPIC) if text.startswith(prefix)), "")
    name = text.removeprefix(prefix)
    yield None, prefix
    if prefix in (RETRY, DEAD_LETTERS):
        yield from _of_group(name, groups)
    elif f"CID_{name}" == PROXIES_GROUP or not is_topic_of(name, ""):
        yield None, name
    else:
        yield "topic", name


def _of_group(name: str, groups: Sequence[str]) -> Iterator[Part]:
    """A group; or a group and a topic, as POP names retry topics."""
    group = next((group for group in groups if name == group or name.startswith((f"{group}_", f"{group}+"))), name)
    yield from _group(group)
    if group != name:
        separator = name[len(group)]
        yield None, separator
        yield from _topic(name.removeprefix(group + separator), groups)


def _client(text: str) -> Iterator[Part]:
    """A host and what follows: process ids, times and indexes are numbers, and stay."""
    host, at, rest = text.partition("@")
    yield "host", host + at
    if is_grpc(text):
        yield None, at + rest
        return
    words = re.split(r"([@#|;:])", rest)
    yield None, at
    for word, delimiter in zip(words[::2], [*words[1::2], ""], strict=True):
        if word.isdecimal() or word in _KNOWN_WORDS:
            yield None, word
        else:
            yield ("host", f"{word}@") if _is_address(word) else ("instance", word + delimiter)
        yield None, delimiter


def _address(text: str) -> Iterator[Part]:
    host, colon, port = text.rpartition(":")
    yield "host", f"{host if colon else text}@"
    yield None, colon + port if colon else ""


def _broker(text: str) -> Iterator[Part]:
    """A proxy by its address, or a broker, whose name may begin with its room and an `@`."""
    if text.startswith(PROXY):
        yield None, PROXY
        yield from _address(text.removeprefix(PROXY))
        return
    for name in re.findall("[^@]*@|[^@]+", text):
        yield "broker", name
        yield None, "@" * name.endswith("@")


def _expression(text: str) -> Iterator[Part]:
    for place, word in enumerate(re.split(r"(\s*\|\|\s*)", text)):
        yield None if place % 2 or word in ("", EVERYTHING) else "tag", word


def _strategy(text: str) -> Iterator[Part]:
    name = text.rpartition(".")[2]
    if text.startswith(_ROCKETMQ) or name in STRATEGY_OF_CLASS:
        yield None, text if text.startswith(_ROCKETMQ) else name
    else:
        yield "strategy", text


def _error(text: str) -> Iterator[Part]:
    """Only what kind of error it is: addresses and names are anywhere in its text."""
    yield None, " ".join(_ERROR.findall(text)) or "error"


def _frame(text: str) -> Iterator[Part]:
    """A method of Java or RocketMQ stays, and of any other one the line, without the file: it is named like a class."""
    method, place = method_of(text), text.rpartition("(")[2]
    if is_of_library(method):
        yield None, f"{method}({place}"
    else:
        yield "method", method
        yield None, f"({''.join(re.findall(r':[0-9]+(?=[)])', place))})"


#: How a text is divided, by the column or field that it is in; topics by `_topic`.
_PARTS: Final[Mapping[str, Callable[[str], Iterator[Part]]]] = {
    "cluster": _plain("cluster"),
    "consumer_group": _group,
    "subject": _group,
    "broker_name": _broker,
    "called": _broker,
    "client_id": _client,
    "client_addr": _address,
    "address": _address,
    "sub_string": _expression,
    "strategy_class": _strategy,
    "frames": _frame,
    "error": _error,
}
#: The fields whose order decides who owns which queue.
_ALLOCATED_BY: Final = ("client_id", "broker_name")


def _numbered(kind: str, names: Sequence[str]) -> list[str]:
    width = len(str(len(names)))
    return [f"{kind}-{number:0{width}}" for number in range(1, len(names) + 1)]


def _hosts(names: Sequence[str]) -> list[str]:
    """Addresses where they were addresses: of one length, so that their order is that of their numbers."""
    new = []
    for number, name in enumerate(names):
        first, second = divmod(number, 156 * 156)
        address = f"10.{100 + first}.{100 + second // 156}.{100 + second % 156}"
        if _is_address(name.removesuffix("@")):
            new.append(address)
        else:
            new.append(f"{address}-host" if name[:1].isdecimal() else f"host-{number:07}")
    return new


def _instances(names: Sequence[str]) -> list[str]:
    """Names that begin as they began, with a number or a character between the words that stay."""
    width = len(str(len(names)))
    return [f"{_beginning(name)}{number:0{width}}" for number, name in enumerate(names, 1)]


def _beginning(name: str) -> str:
    digits, first = re.findall(r"^([0-9]*)(.?)", name)[0]
    if not first.isalpha():
        return f"{digits}{first}"
    if first.isupper():
        return f"{digits}{'A' if name < 'DEFAULT' else 'E'}-"
    return f"{digits}instance-"


_NEW: Final[Mapping[str, Callable[[Sequence[str]], list[str]]]] = {"host": _hosts, "instance": _instances}


def _is_address(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True
