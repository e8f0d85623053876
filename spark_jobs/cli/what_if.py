"""`what-if`: its cases, from what was typed to values; a group's history played otherwise, and what a change of its
size would do now.
"""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.documents import as_json
from spark_jobs.cli.reading import stored_tables
from spark_jobs.cli.show_size import fleet_document, show_fleet, show_size, size_document
from spark_jobs.cli.show_what_if import comparison_document, plan_document, show_comparison, show_plan
from spark_jobs.cli.terminal import printable, progress_on, show_next
from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.phrases import UNFILTERED, did_you_mean
from spark_jobs.domain.rocketmq.strategies import STRATEGY_NAMES
from spark_jobs.domain.status.throughput import Changes
from spark_jobs.domain.what_if.cases import EVERYBODY, Autoscaler, Case, Change, strategy_named
from spark_jobs.domain.what_if.size import Goals
from spark_jobs.errors import CaseError, ExitCode
from spark_jobs.show.what_if import GroupAsked, GroupSteps, draw, fleet_needs, planned, sized, what_if

_A_DAY = 86_400.0


def what_if_command(arguments: Namespace) -> int:
    """Exit code 0 whatever comes out: the question has been answered."""
    asked = GroupAsked(arguments.group or "", arguments.interval, arguments.cluster, arguments.last)
    if arguments.size:
        return _size(arguments, asked)
    check_goals(arguments)
    if not arguments.group:
        raise CaseError("name the group with --group; --size alone is for all groups")
    if arguments.plan is not None:
        check_plan(arguments)
        return _plan(arguments, asked)
    cases = cases_of(arguments)
    with progress_on(Console(stderr=True)) as say:
        found, compared = what_if(stored_tables(arguments.warehouse, say), asked, cases, say)
    if arguments.html:
        draw(found, compared, Path(arguments.html))
    if arguments.json:
        print(as_json(comparison_document(found, compared)))
        return ExitCode.CLEAN
    show_comparison(Console(), found, compared)
    _note(found)
    if arguments.html:
        print(f"The chart of the backlogs is in {printable(arguments.html)}: open it in a browser")
    of_group = {"warehouse": arguments.warehouse, "group": found.consumer_group, "cluster": found.cluster}
    show_next("what-if", {**of_group, "plan": "3"})
    return ExitCode.CLEAN


def _plan(arguments: Namespace, asked: GroupAsked) -> int:
    with progress_on(Console(stderr=True)) as say:
        found, plan = planned(stored_tables(arguments.warehouse, say), asked, arguments.plan, say)
    if arguments.json:
        print(as_json(plan_document(found, plan)))
    else:
        show_plan(Console(), found, plan)
        _note(found)
    return ExitCode.CLEAN


def _size(arguments: Namespace, asked: GroupAsked) -> int:
    """Of a day, where no time was asked for."""
    goals, load = sizing_of(arguments)
    if asked.interval is None and asked.last is None:
        asked = replace(asked, last=_A_DAY)
    if not asked.consumer_group:
        return _fleet_size(arguments, asked, goals, load)
    with progress_on(Console(stderr=True)) as say:
        found, needed = sized(stored_tables(arguments.warehouse, say), asked, goals, load, say)
    if arguments.json:
        print(as_json(size_document(found, needed)))
    else:
        show_size(Console(), found, needed)
        _note(found)
    return ExitCode.CLEAN


def _note(found: GroupSteps) -> None:
    if found.is_filtered:
        print(UNFILTERED)


def _fleet_size(arguments: Namespace, asked: GroupAsked, goals: Goals, load: float) -> int:
    """Of all groups, by their published steps: nothing is played, so there is one goal."""
    if goals.backlog is not None or goals.drained is not None:
        raise CaseError("--backlog-below and --drained-within are played for one group: add --group")
    with progress_on(Console(stderr=True)) as say:
        stored = stored_tables(arguments.warehouse, say)
        interval, found = fleet_needs(stored, asked, goals.utilisation or 1.0, load, say)
    if arguments.json:
        print(as_json(fleet_document(interval, found)))
    else:
        show_fleet(Console(), interval, found)
    return ExitCode.CLEAN


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
#: Percent that the busiest member has to do at the peak, at most, where `--size` is not told otherwise.
_USUAL_UTILISATION = 70
_VALUES = (
    "--members",
    "--queues",
    "--strategy",
    "--without",
    "--speed",
    "--load",
    "--autoscale",
    *_SETTINGS,
    _RESPONSE_TIME,
)


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
    if "--autoscale" in values and "--members" in values:
        raise CaseError(f"the case '{label}': an autoscaler sets the number of members: leave out --members")
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
