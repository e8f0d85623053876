"""Notifications of synthetic days, one after the other, by hand. Times are hours:minutes of the first day."""

from collections.abc import Iterable, Sequence

import pytest

from spark_jobs.domain.incidents.notices import Notice, NoticeScope, notices
from spark_jobs.domain.incidents.values import PublishedFinding
from spark_jobs.domain.model.window import SECOND
from tests.support.tables import described
from tests.support.times import START
from tests.unit.domain.incidents.test_fold import HOUR, TEN, clock, folded, published, written

DAY = 24 * HOUR * SECOND


class Pager:
    """Remembers what was sent to it."""

    def __init__(self, minimum: str = "WARN") -> None:
        self.minimum = minimum
        self.memory: list[Notice] = []
        self.keys: list[tuple[str, ...]] = []

    def receives(
        self, found: Sequence[PublishedFinding], until: int, audited: Iterable[int] | None = None
    ) -> list[str]:
        """New notifications of what was found until this hour, of all hours or those that were audited."""
        end = START + (until * HOUR - TEN) * SECOND
        scope = NoticeScope(end - 7 * DAY, end - DAY, end, self.minimum)
        known = folded(found, hours=range(until) if audited is None else audited)
        news = notices([one for one in known if one.last_seen_at > scope.since], self.memory, scope)
        new = [one.notice for one in news]
        self.keys += [one.keys for one in news]
        self.memory += sorted(new, key=lambda one: not one.is_over)
        return [f"{one.event} {one.severity} {one.rule} {clock(one.opened_at)}" for one in new]


def offline(text: str) -> list[PublishedFinding]:
    """`02:30-04:00@g1 04:00-05:00!`: when a group (`g`) is offline; `!`: silenced."""
    found = []
    for word in text.split():
        span, _, group = word.rstrip("!").partition("@")
        reason = "known" if word.endswith("!") else None
        found += published(span, "GROUP_OFFLINE", "NO_MEMBERS", group or "g", silenced_because=reason)
    return found


#: what | at each hour, when the group was offline → what is sent; `4/2-3`: at 4, of the hours from 2 to 3 only
_SENT = """
begin and end are sent once each            | 3 02:30-03:00 → opened 02:30; 3 02:30-03:00 →; 4 02:30-04:00 →; 5 02:30-04:20 → resolved 02:30; 5 02:30-04:20 →; 30 02:30-04:20 →
over before it was sent, it is one line     | 3 02:30-02:40 → resolved 02:30
… however soon                              | 3 02:30-02:59 → resolved 02:30
… and one more if it came back meanwhile    | 3 02:30-02:51 → resolved 02:30; 4 02:30-02:51 03:00-03:55 →; 5 02:30-02:51 03:00-03:55 → resolved 02:30; 6 02:30-02:51 03:00-03:55 →
sent as open, it is over after ten minutes  | 3 02:30-03:00 → opened 02:30; 4 02:30-03:50 → resolved 02:30
… and not before                            | 3 02:30-03:00 → opened 02:30; 4 02:30-03:51 →; 5 02:30-03:51 → resolved 02:30
the first time, only the last day is sent   | 48 02:30-02:40@g1 25:00-25:10@g2 03:00-48:00@g3 → resolved 25:00, opened 03:00
an earlier hour that is audited later is no news | 4/3-4 03:00-04:00 → opened 03:00; 4/2-4 02:30-04:00 →; 4 01:10-04:00 →; 5 01:10-04:10 → resolved 01:10; 6 01:10-04:10 →
late snapshots show that it began later     | 5 02:30-05:00 → opened 02:30; 5 03:00-05:00 →
… or that it began and ended earlier        | 5/3-5 03:00-05:00 → opened 03:00; 5 02:30-04:00 → resolved 02:30
old hours that are audited later are no news | 48 40:00-40:10 → resolved 40:00; 48 40:00-40:10 02:00-09:00 →
back after its end was sent, it is sent again | 5 02:30-04:20 → resolved 02:30; 5 02:30-05:00 → opened 02:30; 6 02:30-05:30 → resolved 02:30
silenced, it is sent as over                | 4 02:30-04:00 → opened 02:30; 6 02:30-04:00 04:00-06:00! → resolved 02:30; 7 02:30-04:00 04:00-06:00! →
… and never, if it always was               | 4 02:30-06:00! →
no incident any more, it is withdrawn once  | 4 02:30-04:00 → opened 02:30; 4 02:30-04:00! → withdrawn 02:30; 4 02:30-04:00! →; 4 02:30-04:00 → opened 02:30
never audited again, it is let go after a week | 4 02:30-04:00 → opened 02:30; 28/0-4 02:30-04:00 →; 100/0-4 02:30-04:00 →; 171/0-4 02:30-04:00 →; 172/0-4 02:30-04:00 →; 200/0-4 02:30-04:00 →
"""  # noqa: E501 - a table


@pytest.mark.parametrize(
    "course", [row.values[0] for row in described(_SENT)], ids=[row.id for row in described(_SENT)]
)
def test_what_is_new_is_sent_once(course: str) -> None:
    pager = Pager()
    for look in course.split(";"):
        found, _, expected = look.partition("→")
        time, _, spans = found.strip().partition(" ")
        until, _, audited = time.partition("/")
        hours = range(*map(int, audited.split("-"))) if audited else None
        sent = pager.receives(offline(spans), int(until), hours)
        assert ", ".join(sent).replace(" ERROR GROUP_OFFLINE", "") == expected.strip(), look


def test_a_notification_keeps_when_its_incident_was_last_seen() -> None:
    pager = Pager()
    pager.receives(offline("02:30-03:00"), until=3)
    pager.receives(offline("02:30-04:20"), until=5)
    expected = [("open", "03:00"), ("04:20", "04:20")]
    assert [(clock(one.resolved_at), clock(one.last_seen_at)) for one in pager.memory] == expected


@pytest.mark.parametrize(
    ("minimum", "first", "second"), [("WARN", "opened WARN", "worse ERROR"), ("ERROR", None, "opened ERROR")]
)
def test_it_got_worse(minimum: str, first: str | None, second: str) -> None:
    asleep = written("CLIENT_HUNG:NO_PULL 03:00-05:30 client_id=h@1 severity=WARN")
    silent = [*asleep, *written("CLIENT_HUNG:NO_ANSWER 05:30-06:00 client_id=h@1")]
    pager = Pager(minimum)
    assert pager.receives(asleep, until=5) == ([f"{first} CLIENT_HUNG 03:00"] if first else [])
    assert pager.receives(silent, until=6) == [f"{second} CLIENT_HUNG 03:00"]
    assert pager.receives(silent, until=6) == []
    assert pager.receives(silent, until=7) == ["resolved ERROR CLIENT_HUNG 03:00"]


def test_two_that_turn_out_to_be_one_event_are_not_sent_again() -> None:
    def gone(span: str, group: str) -> list[PublishedFinding]:
        return published(span, "BROKER_NOT_READABLE", "LEFT_ROUTE", group, queue=f"t-{group}:b:0")

    pager, apart = Pager(), [*gone("02:10-02:20", "g1"), *gone("03:05-04:00", "g2")]
    expected = ["opened ERROR BROKER_NOT_READABLE 03:05", "resolved ERROR BROKER_NOT_READABLE 02:10"]
    assert pager.receives(apart, until=4) == expected
    # Late snapshots show that the broker was gone all the while, for another group.
    all_the_while = [*apart, *gone("02:15-04:00", "g3")]
    assert pager.receives(all_the_while, until=4) == []
    assert pager.receives(all_the_while, until=5) == ["resolved ERROR BROKER_NOT_READABLE 02:10"]
    # Who follows incidents by key, knows it as both.
    earlier, later = sorted(pager.memory[:2], key=lambda one: one.opened_at)
    assert pager.keys[-1] == (earlier.incident_id, later.incident_id)


def test_an_incident_whose_id_changed_is_known_by_that_under_which_it_was_sent() -> None:
    pager = Pager()
    pager.receives(offline("03:00-05:00"), 5, range(3, 5))
    pager.receives(offline("02:30-04:00"), 5)
    opened, resolved = pager.memory
    assert opened.incident_id != resolved.incident_id
    assert pager.keys == [(opened.incident_id,)] * 2


def test_hours_of_the_last_day_in_any_order_are_sent_once() -> None:
    spans = {2: "02:30-03:00", 3: "03:00-04:00", 4: "04:00-05:00", 5: "05:00-05:20"}
    pager, there, sent = Pager(), set[int](), list[str]()
    for hour in (5, 2, 4, 3, 3):
        there.add(hour)
        sent += pager.receives(offline(" ".join(spans[known] for known in sorted(there))), 6, there)
    assert sent == ["resolved ERROR GROUP_OFFLINE 05:00"]


def test_symptoms_are_no_news_of_their_own() -> None:
    found = written("GROUP_OFFLINE:NO_MEMBERS 02:30-03:00; > UNASSIGNED_QUEUE:GROUP_OFFLINE 02:30-03:00 topic=t")
    assert Pager().receives(found, until=3) == ["opened ERROR GROUP_OFFLINE 02:30"]
