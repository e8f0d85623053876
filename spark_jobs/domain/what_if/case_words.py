"""Cases of a history played otherwise, from the words of the command line to values: `--members +2 --strategy AVG`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.rocketmq.strategies import POP, STRATEGY_NAMES
from spark_jobs.domain.status.throughput import Changes
from spark_jobs.domain.what_if.cases import EVERYBODY, Autoscaler, Case, Change, strategy_named
from spark_jobs.errors import CaseError

_SWITCHES = ("--unique-ids", "--same-subscriptions")
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
_VALUES = (
    "--members",
    "--room",
    "--queues",
    "--strategy",
    "--without",
    "--speed",
    "--load",
    "--autoscale",
    *_SETTINGS,
    _RESPONSE_TIME,
)


#: The options of a case, by their names in Python: `unique_ids` is `--unique-ids`.
CASE_OPTIONS = {word.removeprefix("--").replace("-", "_"): word for word in (*_VALUES, *_SWITCHES)}


def case_words(options: Mapping[str, object]) -> list[str]:
    """The words of one case, of its options by their names in Python; others are left out."""
    return [word for name, option in CASE_OPTIONS.items() for word in words_of(option, options.get(name))]


def words_of(name: str, value: object) -> list[str]:
    """An option as it is typed; nothing for one that is not given."""
    if isinstance(value, (list, tuple)):
        return [word for one in value for word in (name, str(one))]
    return ([name] if value is True else [name, str(value)]) if value else []


def cases_of(words: Sequence[str], texts: Iterable[str]) -> list[Case]:
    """The case of each text, behind the one of the words, if there are any; raises `CaseError`, also without a case."""
    cases = [_case(shlex.join(words), words)] if words else []
    cases += [_case(text, _split(text)) for text in texts]
    if not cases:
        raise CaseError("say what to change, for example --members +2, or --case '--members +2'")
    return cases


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CaseError(f"the case '{text}' cannot be read: {error}") from None


def _case(label: str, words: Iterable[str]) -> Case:
    switches: set[str] = set()
    values: dict[str, list[str]] = {}
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if name in _SWITCHES and not equals:
            switches.add(name)
        elif name in _VALUES:
            values.setdefault(name, []).append(value if equals else next(left, ""))
        else:
            raise CaseError(f"the case '{label}' has no '{name}': write {', '.join((*_VALUES, *_SWITCHES))}")
    if "--autoscale" in values and "--members" in values:
        raise CaseError(f"the case '{label}': an autoscaler sets the number of members: leave out --members")
    strategy, nodes = _strategy(values["--strategy"][-1]) if "--strategy" in values else (None, None)
    return Case(
        label,
        members=_change(values, "--members", "+-="),
        room=values["--room"][-1] if "--room" in values else None,
        strategy=strategy,
        virtual_node_cnt=nodes,
        unique_ids="--unique-ids" in switches,
        same_subscriptions="--same-subscriptions" in switches,
        queues=_change(values, "--queues", "x="),
        without=frozenset(values.get("--without", ())),
        speed=dict(_speed(text) for text in values.get("--speed", ())),
        changes=_changes(values),
        load=load_of(values["--load"][-1]) if "--load" in values else 1.0,
        scaler=_scaler(values["--autoscale"][-1]) if "--autoscale" in values else None,
    )


def _change(values: dict[str, list[str]], name: str, signs: str) -> Change | None:
    if name not in values:
        return None
    text = values[name][-1]
    found = re.fullmatch(rf"([{re.escape(signs)}])([0-9]{{1,5}})", text)
    if not found or (name == "--queues" and int(found[2]) == 0):
        examples = ", ".join(f"{sign}2" for sign in signs)
        raise CaseError(f"{name} cannot be '{text}': write one of {examples}")
    return Change(found[1], int(found[2]))


def _strategy(text: str) -> tuple[str, int | None]:
    try:
        name, nodes = strategy_named(text)
    except ValueError:
        raise CaseError(f"--strategy cannot be '{text}': write NAME, or CONSISTENT_HASH:20 (virtual nodes)") from None
    if name not in STRATEGY_NAMES or name == POP:
        hint = did_you_mean(name, STRATEGY_NAMES[:-1]) or f"choose one of {', '.join(STRATEGY_NAMES[:-1])}"
        raise CaseError(f"--strategy cannot be '{text}': {hint}")
    return name, nodes


def _speed(text: str) -> tuple[str, float]:
    client_id, _, rate = text.rpartition("=")
    if not client_id or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", rate):
        raise CaseError(f"--speed cannot be '{text}': write CLIENT_ID=MESSAGES_PER_SECOND, such as 10.0.0.1@7=25.5")
    return client_id, float(rate)


def load_of(text: str) -> float:
    """`x2` is 2.0: so many times the messages; raises `CaseError`."""
    if not re.fullmatch(r"x[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text[1:]):
        raise CaseError(f"--load cannot be '{text}': write x2 or x1.5")
    return float(text[1:])


def _scaler(text: str) -> Autoscaler:
    pairs = [one.partition("=")[::2] for one in text.split(",")]
    given = dict(pairs)
    numbers = {name: given[name] for name in ("lag", "max", "min") if name in given}
    if (
        len(given) != len(pairs)
        or not {"lag", "max"} <= given.keys() <= {"lag", "max", "min", *_SCALER_SECONDS}
        or not all(re.fullmatch(r"[1-9][0-9]{0,8}", value) for value in numbers.values())
        or int(given.get("min", "1")) > int(given["max"])
    ):
        raise CaseError(f"--autoscale cannot be '{text}': write lag=1000,max=16, and if you like {_SCALER_MORE}")
    times = {
        name: _whole_seconds(text, name, given.get(name, usual)) * SECOND for name, usual in _SCALER_SECONDS.items()
    }
    return Autoscaler(int(given["lag"]), int(given["max"]), int(given.get("min", "1")), *times.values())


def _whole_seconds(text: str, name: str, value: str) -> int:
    found = re.fullmatch(r"([0-9]{1,6})(s|m|h)", value)
    if not found or (name == "every" and not int(found[1])):
        raise CaseError(f"--autoscale cannot be '{text}': write times such as {name}=15s or {name}=5m")
    return int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def _changes(values: dict[str, list[str]]) -> dict[str, Changes]:
    """By client id; the last of several counts."""
    found: dict[str, dict[str, float]] = {}
    for name in (*_SETTINGS, _RESPONSE_TIME):
        for text in values.get(name, ()):
            client_id, _, value = text.rpartition("=")
            changed = found.setdefault(client_id or EVERYBODY, {})
            if name == _RESPONSE_TIME:
                changed["response_ms"] = _milliseconds(text, value)
            elif name == "--threads" and value.startswith("x"):
                changed["threads_times"] = _within(name, text, value[1:], 1, 1000)
            else:
                field, least, most = _SETTINGS[name]
                changed[field] = _within(name, text, value, least, most)
    return {client_id: Changes(**changed) for client_id, changed in found.items()}  # type: ignore[arg-type]


def _within(name: str, text: str, value: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", value) or not least <= int(value) <= most:
        raise CaseError(f"{name} cannot be '{text}': write {least} to {most}, or CLIENT_ID={most} for one member")
    return int(value)


def _milliseconds(text: str, value: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s)", value)
    if not found:
        raise CaseError(f"{_RESPONSE_TIME} cannot be '{text}': write 20ms or 1.5s, or CLIENT_ID=20ms for one member")
    return float(found[1]) * (1000 if found[2] == "s" else 1)
