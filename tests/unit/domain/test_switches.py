"""Addresses that served a broker, and switches between them."""

from schemas import MEMBERSHIP_SNAPSHOTS, REBALANCE_INTERVALS, ROUTE_SNAPSHOTS
from spark_jobs.domain.kernel.triggers import switches
from spark_jobs.domain.model.history import Serving
from spark_jobs.domain.model.series import Series
from spark_jobs.domain.model.window import StepWindow
from tests.support.kernel import published, series_of
from tests.support.snapshots import healthy_group, membership
from tests.support.times import HOUR, at

WINDOW = StepWindow(read_from=100, observed_from=200, start=300, end=1000)
#: time | address of each broker that the route named, `?`: not recorded | switches that it shows, with the time before
SEEN = """
     90 | a=h:0         |
    100 | a=h:1 b=h:9   |
    120 | a=h:1 b=h:9   |
    140 | a=h:2 b=h:9   | a 120 h:1 h:2
    160 | b=h:9         | a 140 h:2 None
    180 |               | b 160 h:9 None
    200 | a=h:1 b=h:7   | a 180 None h:1; b 180 None h:7
    220 | ?             |
    240 | a=h:5 b=h:7   |
    999 | a=h:6 b=h:8   | a 240 h:5 h:6; b 240 h:7 h:8
   1000 | a=h:7 b=h:8   |
"""


def serving(text: str) -> Serving | None:
    return (
        None if "?" in text else frozenset((address.split("=")[0], address.split("=")[1]) for address in text.split())
    )


def test_a_switch_lies_between_two_snapshots_of_the_window() -> None:
    rows = [line.split("|") for line in SEEN.strip().splitlines()]
    seen: Series[Serving | None] = series_of([(int(at), serving(text)) for at, text, _ in rows])
    found = [
        f"{switch.at}: {switch.broker_name} {switch.before} {switch.old} {switch.new}"
        for switch in switches(seen, WINDOW)
    ]
    assert found == [
        f"{int(at)}: {switch.strip()}" for at, _, shown in rows for switch in shown.split(";") if switch.strip()
    ]


#: Address of b until 300 s | from 320 s on (`-`: the route does not name it) | when c2 joins | what began its interval
NAMED = """
    h:1 | h:2 | 280 | MEMBER_JOINED
    h:1 | h:2 | 300 | BROKER_SWITCHED MEMBER_JOINED
    h:1 | h:2 | 340 | BROKER_SWITCHED MEMBER_JOINED
    h:1 | h:2 | 360 | MEMBER_JOINED
    h:1 | h:1 | 340 | MEMBER_JOINED
    h:1 | -   | 340 | MEMBER_JOINED
    -   | h:1 | 340 | MEMBER_JOINED
"""


def test_a_switch_is_named_where_an_interval_begins_a_cadence_around_it() -> None:
    for told in NAMED.strip().splitlines():
        first, then, joins, expected = (cell.strip() for cell in told.split("|"))
        rows = healthy_group(range(0, 600, 20), "c1")
        for member, hosts in zip(rows[MEMBERSHIP_SNAPSHOTS], rows[ROUTE_SNAPSHOTS], strict=True):
            second = (member["captured_at"] - at(0)).total_seconds()
            if second >= int(joins):
                member |= {"connections": membership(second, "c1", "c2")["connections"]}
            address = first if second <= 300 else then
            hosts |= {"addresses": [] if address == "-" else [("b", 0, address)]}
        intervals = [row for row in published(rows, HOUR)[REBALANCE_INTERVALS] if row["member_count"] == 2]
        assert [[trigger["trigger_type"] for trigger in row["triggers"]] for row in intervals] == [expected.split()], (
            told
        )
