"""Cases of a history played otherwise, from the words of the command line to values: `--members +2 --strategy AVG`."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.rocketmq.strategies import CONSISTENT_HASH, POP, STRATEGY_NAMES
from spark_jobs.domain.status.throughput import Changes
from spark_jobs.errors import CaseError
from spark_jobs.what_if.cases import EVERYBODY, Autoscaler, Case, Change

#: A client's settings, in the units of `Changes`, within RocketMQ's own limits (DefaultMQPushConsumerImpl.checkConfig).
_SETTINGS = {
    "--threads": ("threads", 1, 1000),
    "--pull-batch": ("pull_batch", 1, 1024),
    "--pull-interval": ("pull_interval_ms", 0, 65_535),
}
_RESPONSE_TIME = "--response-time"
#: An autoscaler's times, and Kubernetes' defaults; a container's start is a guess.
_SCALER_SECONDS = {"every": "15s", "down-after": "5m", "start": "30s"}
_SCALER_MORE = "min=1,every=15s,down-after=5m,start=30s"
_DECIMAL = r"[0-9]{1,9}(?:\.[0-9]{1,6})?"
_SWITCHES = ("--unique-ids", "--same-subscriptions")
_VALUES = (
    *("--members", "--room", "--queues", "--strategy", "--without", "--speed", "--load", "--autoscale"),
    *(*_SETTINGS, _RESPONSE_TIME),
)
#: The options of a case, by their names in Python: `unique_ids` is `--unique-ids`.
CASE_OPTIONS = {word.removeprefix("--").replace("-", "_"): word for word in (*_VALUES, *_SWITCHES)}


def case_words(options: Mapping[str, object]) -> list[str]:
    """The words of one case, of its options by their names in Python; others are left out."""
    return [word for name, option in CASE_OPTIONS.items() for word in words_of(option, options.get(name))]


def words_of(option: str, value: object) -> list[str]:
    """An option as it is typed; nothing for one that is not given."""
    if isinstance(value, (list, tuple)):
        return [word for item in value for word in (option, str(item))]
    return ([option] if value is True else [option, str(value)]) if value else []


def cases_of(words: Sequence[str], texts: Iterable[str]) -> list[Case]:
    """The case of each text, behind the one of the words, if there are any; raises `CaseError`, also without a case."""
    cases = [_case(shlex.join(words), words)] if words else []
    for text in texts:
        try:
            cases.append(_case(text, shlex.split(text)))
        except ValueError as error:
            raise CaseError(f"the case '{text}' cannot be read: {error}") from None
    if not cases:
        raise CaseError("say what to change, for example --members +2, or --case '--members +2'")
    return cases


def _case(label: str, words: Iterable[str]) -> Case:
    switches, values = _options(label, words)
    if "--autoscale" in values and "--members" in values:
        raise CaseError(f"the case '{label}': an autoscaler sets the number of members: leave out --members")
    last = {option: texts[-1] for option, texts in values.items()}
    strategy, nodes = _strategy(last["--strategy"]) if "--strategy" in last else (None, None)
    return Case(
        label,
        members=_change(last, "--members", "+-="),
        room=last.get("--room"),
        strategy=strategy,
        virtual_node_cnt=nodes,
        unique_ids="--unique-ids" in switches,
        same_subscriptions="--same-subscriptions" in switches,
        queues=_change(last, "--queues", "x="),
        without=frozenset(values.get("--without", ())),
        speed=dict(map(_speed, values.get("--speed", ()))),
        changes=_changes(values),
        load=load_of(last.get("--load", "x1")),
        scaler=_scaler(last["--autoscale"]) if "--autoscale" in last else None,
    )


def _options(label: str, words: Iterable[str]) -> tuple[set[str], dict[str, list[str]]]:
    """The switches that are given, and the values of every other option that is."""
    switches: set[str] = set()
    values: dict[str, list[str]] = {}
    remaining = iter(words)
    for word in remaining:
        option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option in _SWITCHES and not equals:
            switches.add(option)
        elif option in _VALUES:
            values.setdefault(option, []).append(value if equals else next(remaining, ""))
        else:
            raise CaseError(f"the case '{label}' has no '{option}': write {', '.join((*_VALUES, *_SWITCHES))}")
    return switches, values


def _unreadable(option: str, text: str, hint: str) -> CaseError:
    return CaseError(f"{option} cannot be '{text}': {hint}")


def _change(last: Mapping[str, str], option: str, signs: str) -> Change | None:
    if option not in last:
        return None
    match = re.fullmatch(rf"([{re.escape(signs)}])([0-9]{{1,5}})", last[option])
    if not match or (option == "--queues" and int(match[2]) == 0):
        raise _unreadable(option, last[option], f"write one of {', '.join(f'{sign}2' for sign in signs)}")
    return Change(match[1], int(match[2]))


def _strategy(text: str) -> tuple[str, int | None]:
    """`CONSISTENT_HASH:20` as a strategy's name and its virtual nodes."""
    name, _, nodes = text.partition(":")
    try:
        if nodes and CONSISTENT_HASH not in name:
            raise ValueError(f"{name} has no virtual nodes")
        virtual_nodes = int(nodes) if nodes else None
    except ValueError:
        raise _unreadable("--strategy", text, "write NAME, or CONSISTENT_HASH:20 (virtual nodes)") from None
    if name not in STRATEGY_NAMES or name == POP:
        hint = did_you_mean(name, STRATEGY_NAMES[:-1]) or f"choose one of {', '.join(STRATEGY_NAMES[:-1])}"
        raise _unreadable("--strategy", text, hint)
    return name, virtual_nodes


def _speed(text: str) -> tuple[str, float]:
    client_id, _, rate = text.rpartition("=")
    if not client_id or not re.fullmatch(_DECIMAL, rate):
        raise _unreadable("--speed", text, "write CLIENT_ID=MESSAGES_PER_SECOND, such as 10.0.0.1@7=25.5")
    return client_id, float(rate)


def load_of(text: str) -> float:
    """`x2` is 2.0: so many times the messages; raises `CaseError`."""
    if not re.fullmatch(r"x[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text[1:]):
        raise _unreadable("--load", text, "write x2 or x1.5")
    return float(text[1:])


def _scaler(text: str) -> Autoscaler:
    pairs = [pair.partition("=")[::2] for pair in text.split(",")]
    given = dict(pairs)
    numbers = {"min": "1"} | {name: given[name] for name in ("lag", "max", "min") if name in given}
    if (
        len(given) != len(pairs)
        or not {"lag", "max"} <= given.keys() <= {"lag", "max", "min", *_SCALER_SECONDS}
        or not all(re.fullmatch(r"[1-9][0-9]{0,8}", number) for number in numbers.values())
        or int(numbers["min"]) > int(numbers["max"])
    ):
        raise _unreadable("--autoscale", text, f"write lag=1000,max=16, and if you like {_SCALER_MORE}")
    times = [_whole_seconds(text, name, given.get(name, usual)) * SECOND for name, usual in _SCALER_SECONDS.items()]
    return Autoscaler(int(numbers["lag"]), int(numbers["max"]), int(numbers["min"]), *times)


def _whole_seconds(text: str, name: str, value: str) -> int:
    match = re.fullmatch(r"([0-9]{1,6})(s|m|h)", value)
    if not match or (name == "every" and not int(match[1])):
        raise _unreadable("--autoscale", text, f"write times such as {name}=15s or {name}=5m")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def _changes(values: Mapping[str, Sequence[str]]) -> dict[str, Changes]:
    """By client id; the last of several counts."""
    settings: dict[str, dict[str, Any]] = {}
    for option in (*_SETTINGS, _RESPONSE_TIME):
        for text in values.get(option, ()):
            client_id, _, value = text.rpartition("=")
            field, changed = _changed_setting(option, text, value)
            settings.setdefault(client_id or EVERYBODY, {})[field] = changed
    return {client_id: Changes(**of_client) for client_id, of_client in settings.items()}


def _changed_setting(option: str, text: str, value: str) -> tuple[str, float]:
    """A field of `Changes`, and what becomes of it."""
    if option == _RESPONSE_TIME:
        match = re.fullmatch(rf"({_DECIMAL})(ms|s)", value)
        if not match:
            raise _unreadable(option, text, "write 20ms or 1.5s, or CLIENT_ID=20ms for one member")
        return "response_ms", float(match[1]) * (1000 if match[2] == "s" else 1)
    field, least, most = _SETTINGS[option]
    if option == "--threads" and value.startswith("x"):
        field, value = "threads_times", value[1:]
    if not re.fullmatch(r"[0-9]{1,5}", value) or not least <= int(value) <= most:
        raise _unreadable(option, text, f"write {least} to {most}, or CLIENT_ID={most} for one member")
    return field, int(value)
