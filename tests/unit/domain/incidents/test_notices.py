"""Notifications of synthetic days, one after the other, by hand. Times are hours:minutes of the first day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spark_jobs.domain.incidents.notices import Notice, NoticeScope, notices
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.model.window import SECOND
from tests.support.times import START
from tests.unit.domain.incidents.test_fold import HOUR, NOBODY, OFFLINE, TEN, clock, folded, following, published

DAY = 24 * HOUR * SECOND


class Listener:
    """Somebody who remembers what was told; each notice is a look at what was found up to an hour."""

    def __init__(self, least: str = "WARN") -> None:
        self.least = least
        self.memory: list[Notice] = []

    def hears(self, *found: Sequence[PublishedFinding], until: int, but: Iterable[int] = ()) -> list[str]:
        end = START + (until * HOUR - TEN) * SECOND
        scope = NoticeScope(end - 7 * DAY, end - DAY, {"c": end}, self.least)
        seen = [one for one in folded(*found, until=until, but=but) if one.last_seen_at > scope.since]
        new = notices(seen, self.memory, scope)
        self.memory += sorted(new, key=lambda one: not one.is_over)
        return [f"{one.event} {one.severity} {one.rule} {clock(one.opened_at)}" for one in new]


def offline(span: str, group: str = "g") -> list[PublishedFinding]:
    return published(span, OFFLINE, NOBODY, group)


def muted(found: Iterable[PublishedFinding]) -> list[PublishedFinding]:
    return [one._replace(finding=one.finding._replace(silenced_because="known")) for one in found]


def test_the_begin_and_the_end_of_an_incident_are_sent_once_each() -> None:
    pager = Listener()
    assert pager.hears(offline("02:30-03:00"), until=3) == ["opened ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(offline("02:30-03:00"), until=3) == []
    assert pager.hears(offline("02:30-04:00"), until=4) == []
    assert pager.hears(offline("02:30-04:20"), until=5) == ["resolved ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(offline("02:30-04:20"), until=5) == []
    assert pager.hears(offline("02:30-04:20"), until=30) == []
    expected = [("open", "03:00"), ("04:20", "04:20")]
    assert [(clock(one.resolved_at), clock(one.last_seen_at)) for one in pager.memory] == expected


def test_what_was_over_before_it_was_sent_is_one_line() -> None:
    assert Listener().hears(offline("02:30-02:40"), until=3) == ["resolved ERROR GROUP_OFFLINE 02:30"]


def test_it_is_over_when_ten_minutes_have_gone_by_without_it() -> None:
    pager = Listener()
    assert pager.hears(offline("02:30-02:51"), until=3) == ["opened ERROR GROUP_OFFLINE 02:30"]
    back = offline("02:30-02:51"), offline("03:00-03:55")
    assert pager.hears(*back, until=4) == []
    assert pager.hears(*back, until=5) == ["resolved ERROR GROUP_OFFLINE 02:30"]
    assert Listener().hears(offline("02:30-02:50"), until=3) == ["resolved ERROR GROUP_OFFLINE 02:30"]


def test_it_got_worse() -> None:
    hung: dict[str, Any] = {"client_id": "h@1", "client_ids": ["h@1"]}
    asleep = published("03:00-05:30", "CLIENT_HUNG", "NO_PULL", severity="WARN", **hung)
    silent = published("05:30-06:00", "CLIENT_HUNG", "NO_ANSWER", **hung)
    for least, first, second in (("WARN", "opened WARN", "worse ERROR"), ("ERROR", None, "opened ERROR")):
        pager = Listener(least)
        assert pager.hears(asleep, until=5) == ([f"{first} CLIENT_HUNG 03:00"] if first else [])
        assert pager.hears(asleep, silent, until=6) == [f"{second} CLIENT_HUNG 03:00"]
        assert pager.hears(asleep, silent, until=6) == []
        assert pager.hears(asleep, silent, until=7) == ["resolved ERROR CLIENT_HUNG 03:00"]


def test_who_hears_for_the_first_time_hears_of_the_last_day_only() -> None:
    old, recent, still = offline("02:30-02:40", "g1"), offline("25:00-25:10", "g2"), offline("03:00-48:00", "g3")
    expected = ["resolved ERROR GROUP_OFFLINE 25:00", "opened ERROR GROUP_OFFLINE 03:00"]
    assert Listener().hears(old, recent, still, until=48) == expected


def test_an_hour_before_that_is_audited_later_changes_the_id_and_is_not_sent() -> None:
    pager = Listener()
    assert pager.hears(offline("03:00-04:00"), until=4, but=(0, 1, 2)) == ["opened ERROR GROUP_OFFLINE 03:00"]
    assert pager.hears(offline("02:30-04:00"), until=4, but=(0, 1)) == []
    assert pager.hears(offline("01:10-04:00"), until=4) == []
    assert pager.hears(offline("01:10-04:10"), until=5) == ["resolved ERROR GROUP_OFFLINE 01:10"]
    assert pager.hears(offline("01:10-04:10"), until=6) == []


def test_an_end_that_is_audited_again_changes_the_id_and_is_not_sent() -> None:
    """Late snapshots show that it began an hour later; or that it ended an hour earlier, and began before."""
    pager = Listener()
    assert pager.hears(offline("02:30-05:00"), until=5) == ["opened ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(offline("03:00-05:00"), until=5) == []
    pager = Listener()
    assert pager.hears(offline("03:00-05:00"), until=5, but=(0, 1, 2)) == ["opened ERROR GROUP_OFFLINE 03:00"]
    assert pager.hears(offline("02:30-04:00"), until=5) == ["resolved ERROR GROUP_OFFLINE 02:30"]


def test_two_that_turn_out_to_be_one_event_are_not_sent_again() -> None:
    def gone(span: str, group: str) -> list[PublishedFinding]:
        queue = (f"t-{group}", "b", 0, "NOT_READABLE")
        return published(span, "BROKER_NOT_READABLE", "LEFT_ROUTE", group, topic=queue[0], queues=[queue])

    pager, apart = Listener(), (gone("02:10-02:20", "g1"), gone("03:05-04:00", "g2"))
    expected = ["opened ERROR BROKER_NOT_READABLE 03:05", "resolved ERROR BROKER_NOT_READABLE 02:10"]
    assert pager.hears(*apart, until=4) == expected
    # Late snapshots tell that the broker was gone all the while, for another group.
    assert pager.hears(*apart, gone("02:15-04:00", "g3"), until=4) == []
    assert pager.hears(*apart, gone("02:15-04:00", "g3"), until=5) == ["resolved ERROR BROKER_NOT_READABLE 02:10"]


def test_old_hours_that_are_audited_later_are_no_news() -> None:
    pager = Listener()
    assert pager.hears(offline("40:00-40:10"), until=48) == ["resolved ERROR GROUP_OFFLINE 40:00"]
    assert pager.hears(offline("40:00-40:10"), offline("02:00-09:00"), until=48) == []


def test_hours_of_the_last_day_in_any_order_are_sent_once() -> None:
    whole = {hour: [one for one in offline("02:30-05:20") if one.step_start == at(hour)] for hour in range(2, 6)}
    pager, there, heard = Listener(), set[int](), list[str]()
    for hour in (5, 2, 4, 3, 3):
        there.add(hour)
        found = [one for known in sorted(there) for one in whole[known]]
        heard += pager.hears(found, until=6, but=set(range(6)) - there)
    assert heard == ["resolved ERROR GROUP_OFFLINE 05:00"]


def at(hour: int) -> int:
    return START + (hour * HOUR - TEN) * SECOND


def test_what_is_back_after_its_end_was_sent_is_sent_again() -> None:
    pager = Listener()
    pager.hears(offline("02:30-04:20"), until=5)
    assert pager.hears(offline("02:30-05:00"), until=5) == ["opened ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(offline("02:30-05:30"), until=6) == ["resolved ERROR GROUP_OFFLINE 02:30"]


def test_what_is_silenced_is_sent_as_over_and_then_never() -> None:
    pager, found = Listener(), offline("02:30-06:00")
    assert pager.hears(found[:2], until=4) == ["opened ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(found[:2], muted(found[2:]), until=6) == ["resolved ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(found[:2], muted(found[2:]), until=7) == []
    assert Listener().hears(muted(found), until=4) == []


def test_what_is_no_incident_any_more_is_withdrawn_once() -> None:
    pager, found = Listener(), offline("02:30-04:00")
    assert pager.hears(found, until=4) == ["opened ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(muted(found), until=4) == ["withdrawn ERROR GROUP_OFFLINE 02:30"]
    assert pager.hears(muted(found), until=4) == []
    assert pager.hears(found, until=4) == ["opened ERROR GROUP_OFFLINE 02:30"]


def test_what_nobody_knows_of_any_more_is_let_go_after_a_week() -> None:
    """The group was never audited again: silence is no health, and no news either."""
    pager, found = Listener(), offline("02:30-04:00")
    pager.hears(found, until=4)
    for until in (28, 100, 171, 172, 200):
        assert pager.hears(found, until=until, but=range(4, until)) == []


def test_consequences_are_no_news_of_their_own() -> None:
    root = offline("02:30-03:00")
    unowned = following(root, published("02:30-03:00", "UNASSIGNED_QUEUE", OFFLINE, topic="t"))
    assert Listener().hears(root, unowned, until=3) == ["opened ERROR GROUP_OFFLINE 02:30"]
