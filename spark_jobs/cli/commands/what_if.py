"""`what-if`: a group's history played otherwise, and what a change of its size would do now."""

import shlex
from argparse import Namespace
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from rich.console import Console

from spark_jobs.api.answers import Report
from spark_jobs.api.warehouse import AuditedWarehouse
from spark_jobs.cli import show_size, show_what_if
from spark_jobs.cli.documents import answered
from spark_jobs.cli.questions import opened, time_of
from spark_jobs.cli.terminal import printable, show_next
from spark_jobs.domain.phrases import UNFILTERED
from spark_jobs.errors import CaseError, ExitCode
from spark_jobs.show.files import check_writable
from spark_jobs.show.what_if import GroupSteps
from spark_jobs.what_if.case_words import CASE_OPTIONS, case_words, load_of, words_of
from spark_jobs.what_if.size import Goals

#: Percent that the busiest member has to do at the peak, at most, unless `--size` says otherwise.
_USUAL_UTILIZATION = 70


def what_if_command(arguments: Namespace) -> int:
    """Exit code 0 whatever comes out: the question has been answered."""
    if arguments.size:
        return _size(arguments)
    _check_goals(arguments)
    if not arguments.group:
        raise CaseError("name the group with --group; --size alone is for all groups")
    if arguments.plan is not None:
        _check_alone("--plan shows the group as it is, with members less and more", vars(arguments) | {"plan": None})
        return _plan(arguments)
    if arguments.rollout is not None:
        _check_alone("--rollout shows the last rollout in another order", vars(arguments) | {"rollout": None})
        return _rollout(arguments)
    options = {name: getattr(arguments, name) for name in CASE_OPTIONS}
    if arguments.html:
        check_writable(Path(arguments.html), "report")
    with opened(arguments) as warehouse:
        answer = warehouse.what_if(
            arguments.group, *(arguments.case or ()), **_request(arguments, warehouse), **options
        )
    if arguments.html:
        Report(answer.page()).save(arguments.html)
    if not answered(arguments, show_what_if.comparison_document(answer)):
        show_what_if.show_comparison(Console(), answer)
        _note(answer.group)
        if arguments.html:
            print(printable(f"The chart of the backlogs is in {arguments.html}: open it in a browser"))
        names = {"group": answer.group.consumer_group, "cluster": answer.group.cluster}
        show_next("what-if", arguments.warehouse, **names, plan="3")
    return ExitCode.CLEAN


def _request(arguments: Namespace, warehouse: AuditedWarehouse) -> dict[str, Any]:
    return {"cluster": arguments.cluster, **time_of(arguments, warehouse)}


def _plan(arguments: Namespace) -> int:
    with opened(arguments) as warehouse:
        answer = warehouse.plan(arguments.group, arguments.plan, **_request(arguments, warehouse))
    if not answered(arguments, show_what_if.plan_document(answer)):
        show_what_if.show_plan(Console(), answer)
        _note(answer.group)
    return ExitCode.CLEAN


def _rollout(arguments: Namespace) -> int:
    orders = () if arguments.rollout == "all" else (arguments.rollout,)
    with opened(arguments) as warehouse:
        answer = warehouse.rollout(arguments.group, *orders, **_request(arguments, warehouse))
    if not answered(arguments, show_what_if.rollout_document(answer)):
        show_what_if.show_rollout(Console(), answer)
        _note(answer.group)
    return ExitCode.CLEAN


def _size(arguments: Namespace) -> int:
    goals, load = _sizing_of(arguments)
    if not arguments.group:
        return _fleet_size(arguments, goals, load)
    for name in ("spare", "top"):
        if getattr(arguments, name) is not None:
            raise CaseError(f"--{name} is for the verdicts on all groups: leave out --group or --{name}")
    with opened(arguments) as warehouse:
        answer = warehouse.size(arguments.group, **goals._asdict(), load=load, **_request(arguments, warehouse))
    if not answered(arguments, show_size.size_document(answer)):
        show_size.show_size(Console(), answer)
        _note(answer.group)
    return ExitCode.CLEAN


def _note(group: GroupSteps) -> None:
    if group.is_filtered:
        print(printable(UNFILTERED))
    if group.configured.new_room:
        print(printable(f"New members are in room {group.configured.new_room}, where --room names no other."))


def _fleet_size(arguments: Namespace, goals: Goals, load: float) -> int:
    """Of all groups, by their published steps: nothing is played, so there is one goal."""
    if goals.backlog is not None or goals.drained is not None:
        raise CaseError("--backlog-below and --drained-within are played for one group: add --group")
    spare = 1 if arguments.spare is None else arguments.spare
    with opened(arguments) as warehouse:
        request = _request(arguments, warehouse)
        answer = warehouse.fleet_size(goals.utilization or 1.0, load=load, spare=spare, **request)
    if not answered(arguments, show_size.fleet_document(answer.interval, answer.needs[: arguments.top])):
        show_size.show_fleet(Console(), answer.interval, answer.needs, arguments.top)
    return ExitCode.CLEAN


def _sizing_of(arguments: Namespace) -> tuple[Goals, float]:
    """The goals of a group, and so many times the messages; raises `CaseError` as `_check_alone`."""
    _check_alone("--size tries groups of other sizes", vars(arguments) | {"load": None})
    utilization = arguments.utilization_below or _USUAL_UTILIZATION
    goals = Goals(utilization / 100, arguments.backlog_below, arguments.drained_within)
    return goals, load_of(arguments.load) if arguments.load else 1.0


def _check_goals(arguments: Namespace) -> None:
    """Raises `CaseError` for an option of `--size` without it."""
    for name in ("utilization_below", "backlog_below", "drained_within", "spare", "top"):
        if getattr(arguments, name) is not None:
            raise CaseError(f"--{name.replace('_', '-')} belongs to --size: add --size, or leave it out")


def _check_alone(does: str, options: Mapping[str, Any]) -> None:
    """Raises `CaseError` where a case, or what goes with one, is among the options: what `does` that ignores them."""
    conflicting = (words_of(f"--{name}", options[name]) for name in ("case", "html", "plan", "rollout"))
    if words := [*case_words(options), *chain.from_iterable(conflicting)]:
        raise CaseError(f"{does}: leave out {shlex.join(words)}")
