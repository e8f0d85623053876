"""The cases of `what-if`, from what was typed to values."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Iterable, Sequence

from spark_jobs.domain.phrases import did_you_mean
from spark_jobs.domain.strategies import STRATEGY_NAMES
from spark_jobs.domain.throughput import Changes
from spark_jobs.domain.what_if.cases import EVERYBODY, Case, Change, strategy_named
from spark_jobs.domain.what_if.size import Goals
from spark_jobs.errors import CaseError

_SWITCHES = ("--unique-ids", "--same-subscriptions")
#: A client's settings, in the units of `Changes`, within RocketMQ's own limits (DefaultMQPushConsumerImpl.checkConfig).
_SETTINGS = {
    "--threads": ("threads", 1, 1000),
    "--pull-batch": ("pull_batch", 1, 1024),
    "--pull-interval": ("pull_interval_ms", 0, 65_535),
}
_RESPONSE_TIME = "--response-time"
#: Percent that the busiest member has to do at the peak, at most, where `--size` is not told otherwise.
_USUAL_UTILISATION = 70
_VALUES = ("--members", "--queues", "--strategy", "--without", "--speed", "--load", *_SETTINGS, _RESPONSE_TIME)


def cases_of(arguments: Namespace) -> list[Case]:
    """Those of each `--case`, behind the one that the other options describe; raises `CaseError`."""
    words = _typed(arguments)
    cases = [_case(shlex.join(words), words)] if words else []
    cases += [_case(text, _split(text)) for text in arguments.case or ()]
    if not cases:
        raise CaseError("say what to change, for example --members +2, or --case '--members +2'")
    return cases


def check_plan(arguments: Namespace) -> None:
    """Raises `CaseError` where `--plan`, which shows the group as it is, was typed with something that it ignores."""
    _check_alone(
        "--plan shows the group as it is, with members less and more", [*_typed(arguments), *_others(arguments)]
    )


def sizing_of(arguments: Namespace) -> tuple[Goals, float]:
    """What is wanted of a group, and so many times the messages; raises `CaseError` as `check_plan` for `--size`."""
    typed = [*_typed(arguments), *_others(arguments), *_words("--plan", arguments.plan)]
    load = _words("--load", arguments.load)
    _check_alone("--size tries groups of other sizes", [word for word in typed if word not in load])
    utilisation = arguments.utilisation_below or _USUAL_UTILISATION
    goals = Goals(utilisation / 100, arguments.backlog_below, arguments.drained_within)
    return goals, _load(arguments.load) if arguments.load else 1.0


def check_goals(arguments: Namespace) -> None:
    """Raises `CaseError` where a goal was typed without `--size`."""
    for name in ("utilisation_below", "backlog_below", "drained_within"):
        if getattr(arguments, name) is not None:
            raise CaseError(f"--{name.replace('_', '-')} is a goal of --size: add --size, or leave it out")


def _check_alone(does: str, others: Sequence[str]) -> None:
    if others:
        raise CaseError(f"{does}: leave out {shlex.join(others)}")


def _others(arguments: Namespace) -> list[str]:
    return [*_words("--case", arguments.case), *_words("--html", arguments.html)]


def _typed(arguments: Namespace) -> list[str]:
    """The words that describe a case without `--case`."""
    named = [(name, getattr(arguments, name.removeprefix("--").replace("-", "_"))) for name in (*_VALUES, *_SWITCHES)]
    return [word for name, value in named for word in _words(name, value)]


def _words(name: str, value: object) -> Iterable[str]:
    if isinstance(value, list):
        return [word for one in value for word in (name, str(one))]
    return ([name] if value is True else [name, str(value)]) if value else []


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
    strategy, nodes = _strategy(values["--strategy"][-1]) if "--strategy" in values else (None, None)
    return Case(
        label,
        members=_change(values, "--members", "+-="),
        strategy=strategy,
        virtual_node_cnt=nodes,
        unique_ids="--unique-ids" in switches,
        same_subscriptions="--same-subscriptions" in switches,
        queues=_change(values, "--queues", "x="),
        without=frozenset(values.get("--without", ())),
        speed=dict(_speed(text) for text in values.get("--speed", ())),
        changes=_changes(values),
        load=_load(values["--load"][-1]) if "--load" in values else 1.0,
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
    if name not in STRATEGY_NAMES or name == "POP":
        hint = did_you_mean(name, STRATEGY_NAMES[:-1]) or f"choose one of {', '.join(STRATEGY_NAMES[:-1])}"
        raise CaseError(f"--strategy cannot be '{text}': {hint}")
    return name, nodes


def _speed(text: str) -> tuple[str, float]:
    client_id, _, rate = text.rpartition("=")
    if not client_id or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", rate):
        raise CaseError(f"--speed cannot be '{text}': write CLIENT_ID=MESSAGES_PER_SECOND, such as 10.0.0.1@7=25.5")
    return client_id, float(rate)


def _load(text: str) -> float:
    if not re.fullmatch(r"x[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text[1:]):
        raise CaseError(f"--load cannot be '{text}': write x2 or x1.5")
    return float(text[1:])


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
