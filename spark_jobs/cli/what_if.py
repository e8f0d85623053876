"""`what-if`: a group's history played otherwise, and what a change of its size would do now."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from spark_jobs.api.answers import Report
from spark_jobs.cli.documents import as_json
from spark_jobs.cli.reading import opened, time_of
from spark_jobs.cli.show_size import fleet_document, show_fleet, show_size, size_document
from spark_jobs.cli.show_what_if import comparison_document, plan_document, show_comparison, show_plan
from spark_jobs.cli.terminal import printable, show_next
from spark_jobs.domain.phrases import UNFILTERED
from spark_jobs.domain.what_if.case_words import CASE_OPTIONS, case_words, load_of, words_of
from spark_jobs.domain.what_if.size import Goals
from spark_jobs.errors import CaseError, ExitCode
from spark_jobs.show.what_if import GroupSteps

#: Percent that the busiest member has to do at the peak, at most, where `--size` is not told otherwise.
_USUAL_UTILISATION = 70


def what_if_command(arguments: Namespace) -> int:
    """Exit code 0 whatever comes out: the question has been answered."""
    asked: dict[str, Any] = {"cluster": arguments.cluster, **time_of(arguments)}
    if arguments.size:
        return _size(arguments, asked)
    check_goals(arguments)
    if not arguments.group:
        raise CaseError("name the group with --group; --size alone is for all groups")
    if arguments.plan is not None:
        check_plan(arguments)
        return _plan(arguments, asked)
    options = {name: getattr(arguments, name) for name in CASE_OPTIONS}
    with opened(arguments) as warehouse:
        found = warehouse.what_if(arguments.group, *(arguments.case or ()), **asked, **options)
    if arguments.html:
        Report(found.page()).save(arguments.html)
    if arguments.json:
        print(as_json(comparison_document(found.group, found.comparison)))
        return ExitCode.CLEAN
    show_comparison(Console(), found.group, found.comparison)
    _note(found.group)
    if arguments.html:
        print(f"The chart of the backlogs is in {printable(arguments.html)}: open it in a browser")
    of_group = {"warehouse": arguments.warehouse, "group": found.group.consumer_group, "cluster": found.group.cluster}
    show_next("what-if", {**of_group, "plan": "3"})
    return ExitCode.CLEAN


def _plan(arguments: Namespace, asked: dict[str, Any]) -> int:
    with opened(arguments) as warehouse:
        found = warehouse.plan(arguments.group, arguments.plan, **asked)
    if arguments.json:
        print(as_json(plan_document(found.group, found.plan)))
    else:
        show_plan(Console(), found.group, found.plan)
        _note(found.group)
    return ExitCode.CLEAN


def _size(arguments: Namespace, asked: dict[str, Any]) -> int:
    goals, load = sizing_of(arguments)
    if not arguments.group:
        return _fleet_size(arguments, asked, goals, load)
    with opened(arguments) as warehouse:
        found = warehouse.size(arguments.group, **goals._asdict(), load=load, **asked)
    if arguments.json:
        print(as_json(size_document(found.group, found.size)))
    else:
        show_size(Console(), found.group, found.size)
        _note(found.group)
    return ExitCode.CLEAN


def _note(found: GroupSteps) -> None:
    if found.is_filtered:
        print(UNFILTERED)
    if found.configured.new_room:
        print(f"New members are in room {printable(found.configured.new_room)}, where --room names no other.")


def _fleet_size(arguments: Namespace, asked: dict[str, Any], goals: Goals, load: float) -> int:
    """Of all groups, by their published steps: nothing is played, so there is one goal."""
    if goals.backlog is not None or goals.drained is not None:
        raise CaseError("--backlog-below and --drained-within are played for one group: add --group")
    with opened(arguments) as warehouse:
        found = warehouse.fleet_size(goals.utilisation or 1.0, load=load, **asked)
    if arguments.json:
        print(as_json(fleet_document(found.interval, found.needs)))
    else:
        show_fleet(Console(), found.interval, found.needs)
    return ExitCode.CLEAN


def check_plan(arguments: Namespace) -> None:
    """Raises `CaseError` where `--plan`, which shows the group as it is, was typed with something that it ignores."""
    _check_alone(
        "--plan shows the group as it is, with members less and more", [*_typed(arguments), *_others(arguments)]
    )


def sizing_of(arguments: Namespace) -> tuple[Goals, float]:
    """What is wanted of a group, and so many times the messages; raises `CaseError` as `check_plan` for `--size`."""
    typed = [*_typed(arguments), *_others(arguments), *words_of("--plan", arguments.plan)]
    load = words_of("--load", arguments.load)
    _check_alone("--size tries groups of other sizes", [word for word in typed if word not in load])
    utilisation = arguments.utilisation_below or _USUAL_UTILISATION
    goals = Goals(utilisation / 100, arguments.backlog_below, arguments.drained_within)
    return goals, load_of(arguments.load) if arguments.load else 1.0


def check_goals(arguments: Namespace) -> None:
    """Raises `CaseError` where a goal was typed without `--size`."""
    for name in ("utilisation_below", "backlog_below", "drained_within"):
        if getattr(arguments, name) is not None:
            raise CaseError(f"--{name.replace('_', '-')} is a goal of --size: add --size, or leave it out")


def _check_alone(does: str, others: Sequence[str]) -> None:
    if others:
        raise CaseError(f"{does}: leave out {shlex.join(others)}")


def _others(arguments: Namespace) -> list[str]:
    return [*words_of("--case", arguments.case), *words_of("--html", arguments.html)]


def _typed(arguments: Namespace) -> list[str]:
    """The words that describe a case without `--case`."""
    return case_words(vars(arguments))
