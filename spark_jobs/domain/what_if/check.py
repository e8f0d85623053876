"""Whether a case is about the group that was recorded: one of somebody else would be played as if nothing changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from spark_jobs.domain.phrases import count, did_you_mean, names_text
from spark_jobs.domain.what_if.cases import Case, origin
from spark_jobs.domain.what_if.recorded import Recorded
from spark_jobs.errors import CaseError

#: Members that an error names, at most.
_NAMED = 8


def check_case(case: Case, found: Recorded) -> None:
    """Raises `CaseError` for a client id that no member has, or where more members leave than there ever were."""
    intervals = [one.interval for of_topic in found.held.values() for one in of_topic]
    seen = {member.client_id for one in intervals for member in one.members or ()}
    there = {member.client_id for one in intervals for member in case.inputs(one).members}
    _check_ids(case, case.without, seen)
    _check_ids(case, [*case.speed, *filter(None, case.changes)], there.union(map(origin, there)))
    left = max(sum(member.client_id not in case.without for member in one.members or ()) for one in intervals)
    if case.members and case.members.sign == "-" and case.members.number > left:
        raise CaseError(f"{case.label}: there were never more than {count(left, 'member')}")


def _check_ids(case: Case, named: Iterable[str], known: Collection[str]) -> None:
    for name in sorted(set(named).difference(known)):
        hint = did_you_mean(name, known) or f"the members were {names_text(sorted(known), _NAMED)}"
        raise CaseError(f"{case.label}: there was no member {name}: {hint}")
