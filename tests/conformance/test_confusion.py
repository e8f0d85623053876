"""Counts of the table, by hand: a fault is found once, and all else is a false alarm."""

from __future__ import annotations

from tests.support.made_groups.confusion import Alarm, Evaluated, _joined, table, tallies
from tests.support.made_groups.lives import Time

FAULT = Time(600, 1200)


def of_group(*alarms: Alarm, rules: str = "A", fault: Time | None = FAULT) -> Evaluated:
    return Evaluated("g", 20, frozenset(rules.split()), fault, alarms)


def rows(*groups: Evaluated) -> list[str]:
    return list(table(tallies(groups)))[2:]


def test_steps_cut_a_finding_and_topics_share_it() -> None:
    found = [Alarm("A", Time(*each)) for each in ((3600, 4000), (600, 3600), (700, 900), (4001, 4100))]
    other = Alarm("B", Time(0, 5))
    assert list(_joined([*found, other])) == [Alarm("A", Time(600, 4000)), Alarm("A", Time(4001, 4100)), other]


def test_a_fault_that_is_found_in_time_late_twice_and_not_at_all() -> None:
    in_time, late, again = (Alarm("A", Time(*each)) for each in ((610, 1240), (650, 1200), (1210, 1300)))
    assert rows(of_group(in_time)) == ["| `A` | 1 | 1 | 0 | 1.000 | 1.000 | 0.5 / 0.5 / 0.5 | 2.0 / 2.0 / 2.0 | 0 |"]
    assert rows(of_group(late)) == ["| `A` | 1 | 1 | 0 | 1.000 | 1.000 | 2.5 / 2.5 / 2.5 | 0.0 / 0.0 / 0.0 | 1 |"]
    assert rows(of_group(in_time, again), of_group()) == [
        "| `A` | 2 | 1 | 1 | 0.500 | 0.500 | 0.5 / 0.5 / 0.5 | 2.0 / 2.0 / 2.0 | 0 |"
    ]


def test_what_was_not_planted_or_came_at_another_time_is_false() -> None:
    before, other = Alarm("A", Time(100, 600)), Alarm("B", FAULT)
    assert rows(of_group(before, other)) == [
        "| `A` | 1 | 0 | 1 | 0.000 | 0.000 | - | - | 0 |",
        "| `B` | 0 | 0 | 1 | 0.000 | - | - | - | 0 |",
    ]
    healthy = of_group(Alarm("B", Time(0, 60)), rules="", fault=None)
    assert rows(healthy) == ["| `B` | 0 | 0 | 1 | 0.000 | - | - | - | 0 |"]
