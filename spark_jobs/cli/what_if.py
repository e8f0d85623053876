"""`what-if`: a group's history played otherwise, and what a change of its size would do now."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from spark_jobs.cli.documents import as_json
from spark_jobs.cli.reading import stored_tables
from spark_jobs.cli.show_size import fleet_document, show_fleet, show_size, size_document
from spark_jobs.cli.show_what_if import comparison_document, plan_document, show_comparison, show_plan
from spark_jobs.cli.terminal import printable, progress_on, show_next
from spark_jobs.cli.what_if_cases import cases_of, check_goals, check_plan, sizing_of
from spark_jobs.domain.phrases import UNFILTERED
from spark_jobs.domain.what_if.size import Goals
from spark_jobs.errors import CaseError, ExitCode
from spark_jobs.jobs.what_if import GroupAsked, GroupSteps, draw, fleet_needs, planned, sized, what_if

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
