"""Sizes of groups by their published steps, on paper."""

import pytest

from spark_jobs.what_if.size import FleetNeed, PublishedStep, SizeVerdict, fleet_need, why_no_verdict

#: Members, queues, utilization of all and of the busiest, its limit; load; spare members; verdict and members needed.
_GROUPS = """
2 8 0.35 0.40 LISTENER | 1 | 0 | TOO_MANY 1
2 8 0.35 0.40 LISTENER | 1 | 1 | ENOUGH 2
5 8 0.13 0.40 LISTENER | 1 | 0 | TOO_MANY 1
5 8 0.13 0.40 LISTENER | 1 | 1 | TOO_MANY 2
5 8 0.13 0.40 LISTENER | 1 | 2 | TOO_MANY 3
5 8 0.13 0.40 LISTENER | 1 | 9 | ENOUGH 5
2 8 0.36 0.40 LISTENER | 1 | 0 | ENOUGH 2
2 8 0.36 0.40 LISTENER | 2 | 1 | TOO_FEW 3
4 8 0.50 0.50 LISTENER | 1 | 0 | ENOUGH 4
4 9 0.50 0.50 LISTENER | 1 | 0 | TOO_MANY 3
4 9 0.50 0.50 LISTENER | 1 | 1 | ENOUGH 4
3 8 0.60 0.68 LISTENER | 1 | 0 | ENOUGH 3
4 4 0.90 0.90 LISTENER | 1 | 1 | NOT_BY_MEMBERS -
4 8 0.90 0.90 LISTENER | 1 | 1 | TOO_FEW 8
2 4 0.15 1.60 LISTENER | 1 | 0 | UNEVEN 1
2 4 0.15 1.60 LISTENER | 1 | 1 | UNEVEN 2
2 8 0.20 0.80 PULLS    | 1 | 1 | NOT_BY_MEMBERS -
2 8 0.20 0.75 HOT_QUEUE | 1 | 1 | NOT_BY_MEMBERS -
2 8 0.20 0.60 HOT_QUEUE | 1 | 0 | TOO_MANY 1
2 8 0.20 0.60 HOT_QUEUE | 2 | 1 | NOT_BY_MEMBERS -
2 8 -    -    -        | 1 | 1 | UNKNOWN -
- 8 0.20 0.20 LISTENER | 1 | 1 | UNKNOWN -
2 0 0.20 0.20 LISTENER | 1 | 1 | UNKNOWN -
"""


def step(text: str) -> PublishedStep:
    members, queues, utilization, busiest, limit = (None if one == "-" else one for one in text.split())
    return PublishedStep(
        None if members is None else int(members),
        None if queues is None else int(queues),
        None if utilization is None else float(utilization),
        None if busiest is None else float(busiest),
        limit,
    )


@pytest.mark.parametrize("line", _GROUPS.strip().splitlines())
def test_one_step_gives_the_size_of_a_group(line: str) -> None:
    group, load, spare, expected = (one.strip() for one in line.split("|"))
    found = fleet_need([step(group)], 0.7, float(load), int(spare))
    assert f"{found.verdict} {found.needed or '-'}" == expected
    assert (found.reason is None) is (found.verdict != SizeVerdict.UNKNOWN)


def test_the_busiest_step_counts() -> None:
    steps = [step("2 8 0.1 0.1 LISTENER"), step("3 8 0.6 0.7 LISTENER"), step("2 8 - - -")]
    assert fleet_need(steps, 0.7, 1) == FleetNeed(SizeVerdict.ENOUGH, 3, 8, 0.6, 0.7, "LISTENER", 3)
    unknown = FleetNeed(SizeVerdict.UNKNOWN, reason="no step shows how busy members were")
    assert fleet_need([], 0.7, 1) == unknown


@pytest.mark.parametrize(
    ("share", "rules", "reason"),
    [
        (0.5, (), None),
        (0.49, (), "observed for 49 % of the time"),
        (1.0, ("SLOW_LISTENER", "IDLE_CONSUMER"), "open incident: IDLE_CONSUMER, SLOW_LISTENER"),
        (0.02, ("IDLE_CONSUMER",), "open incident: IDLE_CONSUMER; observed for 2 % of the time"),
    ],
)
def test_why_there_is_no_verdict(share: float, rules: tuple[str, ...], reason: str | None) -> None:
    assert why_no_verdict(share, rules) == reason
