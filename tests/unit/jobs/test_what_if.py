"""A warehouse without Spark: what `what-if` reads of it, shows and draws."""

import base64
import gzip
import re
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from schemas import AUDIT_RUNS, GROUP_STATUS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, OUTPUTS, Table
from spark_jobs.cli.show_size import show_fleet
from spark_jobs.cli.show_what_if import pace_text, show_plan, show_rollout
from spark_jobs.config import Configuration
from spark_jobs.domain.rocketmq.strategies import StrategySettings
from spark_jobs.domain.rules.rollout import Rollout
from spark_jobs.show.what_if import GroupPlan, GroupRollout, GroupSteps
from spark_jobs.what_if.pace import MemberPace
from spark_jobs.what_if.plan import Plan, PlannedMember, PlannedSize
from spark_jobs.what_if.rollout import RolloutComparison, RolloutOutcome
from spark_jobs.what_if.size import FleetNeed, SizeVerdict
from tests.support.commands import Typed
from tests.support.consoles import shown
from tests.support.snapshots import membership, offsets
from tests.support.stored import audit_run, write
from tests.support.times import HOUR, at, micros
from tests.support.what_if import nothing, rate, reported_by, snapshots

KEY = {"cluster": "c", "consumer_group": "g"}
STEPS = GroupSteps("c", "g", HOUR, [], StrategySettings())


def twins(clients: Sequence[dict[str, Any]], tags: str = "*") -> dict[Table, list[dict[str, Any]]]:
    """8 queues with 2.5 messages a second each, of which twins consume the first four. Another group and retry topics
    are there too. `clients`: what these report of themselves.
    """
    rows = snapshots(lambda _: ["c1", "c1"], [rate(2.5)] * 8, [rate(2.5)] * 4 + [nothing] * 4, clients=clients)
    subscriptions = [{"topic": topic, "sub_string": tags} for topic in ("t", "%RETRY%g")]
    memberships = [row | {"subscriptions": subscriptions} for row in rows[MEMBERSHIP_SNAPSHOTS]]
    others = [membership(second, "c9", group="other") for second in range(0, 601, 20)]
    return rows | {MEMBERSHIP_SNAPSHOTS: [*memberships, *others]}


@pytest.fixture
def warehouse(tmp_path: Path) -> str:
    """Client `c1` says nothing of itself."""
    return written(tmp_path, [KEY | {"client_id": "c1", "captured_at": at(0), "answered": False}])


@pytest.fixture
def paced(tmp_path: Path) -> str:
    """`c1` says that its 1 thread takes 40 ms: it can consume 25 messages a second."""
    return written(tmp_path, reported_by(["c1"], threads=1, response_ms=40))


def written(
    tmp_path: Path,
    clients: Sequence[dict[str, Any]],
    tags: str = "*",
    configuration: Configuration = Configuration(),  # noqa: B008
    more: Mapping[Table, Sequence[dict[str, Any]]] = MappingProxyType({}),
) -> str:
    for table, found in twins(clients, tags).items():
        write(tmp_path, table, [*found, *more.get(table, ())])
    for table in OUTPUTS:
        write(tmp_path, table, [])
    status = {"bottleneck": "DUPLICATE_IDS", "finding_count": 1, "unknown_queues": 0, "advice": "No: twins."}
    write(tmp_path, GROUP_STATUS, [KEY | {"step_start": HOUR.start} | status])
    published = {table.name: int(table is GROUP_STATUS) for table in OUTPUTS}
    sources = {table.name: 0 for table in twins(clients)}
    configured = configuration.model_dump_json()
    write(tmp_path, AUDIT_RUNS, [audit_run(HOUR, published, configuration=configured, source_versions=sources)])
    return str(tmp_path)


@pytest.fixture
def what_if(typed: Typed) -> Typed:
    """Types `what-if` about the group."""
    return partial(typed, "what-if --group g")


def test_cases_are_compared_with_what_really_happened(warehouse: str, what_if: Typed) -> None:
    words = ("--interval", HOUR, "--unique-ids", "--speed", "c1=30", "--case", "--members =1")
    assert what_if(*words, warehouse=warehouse).lines == [
        "really happened: unassigned_queues=4.0 double_owned_queues=4.0 idle=0.0 busiest=4 queues "
        "moves_per_rebalance=- highest=6,000 last=6,000 drained_after=not by the end consumed_twice=6,000",
        "--speed c1=30 --unique-ids: unassigned_queues=0.0 double_owned_queues=0.0 idle=0.0 busiest=4 queues "
        "moves_per_rebalance=- highest=0 last=0 drained_after=0 s consumed_twice=0",
        # c1 was seen to take 10 a second, 20 come.
        "--members =1: unassigned_queues=0.0 double_owned_queues=0.0 idle=0.0 busiest=8 queues "
        "moves_per_rebalance=- highest=≤ 6,000 last=≤ 6,000 drained_after=not by the end consumed_twice=0",
        "Without any change, the model differs from the recorded backlog by 0 messages on average. Queues and members "
        "are averages over time. The model and its limits: docs/what-if.md in the repository.",
        "--members =1: ≤ is an upper bound: members with a backlog do not report how fast they are, and were never "
        "seen at their limit.",
        "Would more consumers have helped? No: twins.",
        "c1: its running info does not show how fast it is; it was seen to consume 10.0 messages/s",
    ]


def test_rows_that_a_run_would_set_aside_are_not_used(tmp_path: Path, what_if: Typed) -> None:
    """An offset below 0, and a member without a name: the answer is as it was without them."""
    bad = {OFFSET_SNAPSHOTS: [offsets(305, *[(-5, 1000, 1)] * 8)], MEMBERSHIP_SNAPSHOTS: [membership(305, "c1", "")]}
    answers = [
        what_if("--unique-ids", warehouse=written(tmp_path / name, [], more=more)).out
        for name, more in (("good", {}), ("bad", bad))
    ]
    assert answers[0] == answers[1]


def test_the_answer_says_that_messages_are_those_of_the_queues(tmp_path: Path, what_if: Typed) -> None:
    for tags, quality in (("*", "MEASURED"), ("EU", "UNFILTERED")):
        warehouse = written(tmp_path / quality, reported_by(["c1"], threads=1, response_ms=40), tags)
        words = ("--interval", HOUR, "--unique-ids")
        assert ("by tags or SQL" in what_if(*words, warehouse=warehouse).out) is (quality == "UNFILTERED")
        assert what_if(*words, "--json", warehouse=warehouse).document["lag_quality"] == quality


def test_a_member_that_reports_its_pace_is_known(paced: str, what_if: Typed) -> None:
    cases = ("", "--threads 2", "--threads x2", "--response-time c1=80ms", "--load x2", "--pull-interval c1=16000")
    asked = [word for case in cases for word in ("--case", f"--members =1 {case}")]
    _, *lines = what_if("--members", "=1", *asked, warehouse=paced).lines
    highest = [found[1] for line in lines if (found := re.search("highest=([0-9≤,. ]+) last", line))]
    # 20 a second come to one member. It takes 25; 50 with 2 threads; 12.5 with 80 ms, so 600 s × 7.5 wait. Of twice the
    # messages 600 × 15. 8 queues with 32 messages every 16.001 s are 15.999 a second: 600 × 4.001.
    assert highest == ["0", "0", "0", "0", "4,500", "9,000", "2,401"]
    assert lines[-1] == (
        "c1: its listener can consume 25.0 messages/s (1 thread, 40 ms a call, 11 samples); its pulls can bring "
        "32,000.0 messages/s of each queue; it was seen to consume 10.0 messages/s"
    )


@pytest.mark.parametrize(
    ("response_ms", "reached", "sentence"),
    [
        (0.00167, False, "its listener takes next to no time (1 thread, 27 samples); its pulls can bring 7.0 "
         "messages/s of each queue; it was seen to consume 4.1 messages/s"),
        (400.0, True, "its listener can consume 2.5 messages/s (1 thread, 400 ms a call, 27 samples); its pulls can "
         "bring 7.0 messages/s of each queue; it was seen to consume 4.1 messages/s, its limit"),
    ],
)  # fmt: skip
def test_the_pace_of_a_member_is_a_sentence(response_ms: float, reached: bool, sentence: str) -> None:
    pace = MemberPace("c1", 1000 / response_ms, 7.0, 1, response_ms, 27, 4.1, reached)
    assert pace_text(pace) == f"c1: {sentence}"


def test_new_members_are_in_a_room(tmp_path: Path, what_if: Typed) -> None:
    rooms = {"strategy": "MACHINE_ROOM_NEARBY-AVG", "broker_room": "(b)", "client_room": "(c)"}
    configuration = Configuration.model_validate({"groups": [{"group": "g", **rooms}]})
    warehouse = written(tmp_path, [], configuration=configuration)
    lines = what_if("--members=+1", "--case", "--members +1 --room b", warehouse=warehouse).lines
    # Three of room c share eight queues of room b, until one is in that room.
    assert [re.findall("busiest=. queues", line) for line in lines[1:3]] == [["busiest=3 queues"], ["busiest=8 queues"]]
    assert "New members are in room c, where --room names no other." in lines
    assert what_if("--members=+1", "--json", warehouse=warehouse).document["new_room"] == "c"


def test_an_autoscaler_is_tried_before_it_is_turned_on(paced: str, what_if: Typed) -> None:
    # Twins leave four queues without an owner: 4 × 2.5 a second. Whoever looks at the lag adds members.
    lines = what_if("--autoscale", "lag=500,max=4,min=2,every=1m,down-after=2m,start=0s", warehouse=paced).lines
    (scaled,) = (line for line in lines if "member hours" in line)
    assert re.fullmatch(r"--autoscale .*: 2 to 4 members, changed [0-9]+ times, 0\.[0-9] member hours\.", scaled)


def test_the_size_that_a_group_needs(paced: str, what_if: Typed) -> None:
    size = partial(what_if, "--size", "--interval", HOUR, warehouse=paced)
    assert size("--backlog-below", 100, "--drained-within", "5m").lines[:4] == [
        # With ids of their own each of the two has 10 of 25 a second.
        "as it is: members=2 queues=8 busiest_member=40 % (listener) highest=0 drained_after=0 s",
        "busiest member at 70 % or less: members=2 queues=8 busiest_member=40 % (listener) highest=0 drained_after=0 s",
        "never more than 100 messages behind: members=1 queues=8 busiest_member=80 % (listener) highest=0 "
        "drained_after=0 s",
        "drained within 5 min 00 s: members=1 queues=8 busiest_member=80 % (listener) highest=0 drained_after=0 s",
    ]
    document = size("--utilization-below", 35, "--load", "x2", "--json").document
    # 40 a second: with 5 members two have 2 queues of 5 each, 10 of 25; with 8 one each, 5 of 25.
    (need,) = document["needs"]
    assert (need["goal"], need["wanted"], need["group"]["members"]) == ("utilization", 0.35, 8)
    assert document["today"]["utilization"] == pytest.approx(0.8, rel=0.01)


def test_what_was_hardly_observed_gets_no_verdict(example_warehouse: str, typed: Typed) -> None:
    """The recording lasts 24 minutes, in which notify-service has members of different subscriptions."""
    for last, observed in (("1d", "2 %"), ("1h", "41 %")):
        *groups, summary = typed("what-if --size --last", last, warehouse=example_warehouse).lines
        assert f"17 UNKNOWN. Observed: up to 24 min 28 s ({observed}) of 2026-11-2" in summary
        assert all(f"observed for {observed} of the time)" in line for line in groups if "pop-service" not in line)
    (notify,) = (line for line in groups if "notify-service" in line)
    assert notify.endswith("needed=- (open incident: SUBSCRIPTION_MISMATCH; observed for 41 % of the time)")
    (worst,) = typed("what-if --size --top 1 --json", warehouse=example_warehouse).document["groups"]
    assert worst["consumer_group"] == "legacy-import"
    *_, summary, reason = typed("what-if --size --group notify-service", warehouse=example_warehouse).lines
    assert summary.startswith("Observed: 24 min 27 s (2 %) of 2026-11-20T03:00Z/2026-11-21T03:00Z. The fewest members")
    assert reason == ("This is no recommendation: open incident: SUBSCRIPTION_MISMATCH; observed for 2 % of the time.")


_NEEDS = [
    ("c", "payment-service-of-the-other-side", FleetNeed(SizeVerdict.NOT_BY_MEMBERS, 12, 64, 0.5, 1.57, "LISTENER")),
    ("c", "flapper", FleetNeed(SizeVerdict.UNKNOWN, reason="open incident: FLAPPING_MEMBER")),
]


def sizes(needs: Sequence[tuple[str, str, FleetNeed]], width: int, top: int | None = None) -> list[str]:
    return shown(lambda console: show_fleet(console, HOUR, needs, top), width, on_terminal=True)


def test_the_sizes_of_all_groups_are_a_line_each() -> None:
    _, _, first, second, _, payment, flapper, _, *_ = sizes(_NEEDS, 80)
    assert (first.split(), second.split()) == (
        ["busiest", "members"],
        ["group", "verdict", "members", "member", "needed"],
    )
    assert payment.split() == ["payment-service-of-the-other-side", "NOT_BY_MEMBERS", "12", "157", "%", "-"]
    assert flapper.split() == ["flapper", "UNKNOWN", "unknown", "unknown", "-"]
    wide = sizes(_NEEDS, 160)
    assert wide[5].split()[2:] == ["12", "64", "50", "%", "157", "%", "listener", "-"]
    assert wide[6].endswith("-  open incident: FLAPPING_MEMBER ")


def test_the_worst_sizes_are_shown_and_all_are_counted() -> None:
    lines = sizes(_NEEDS, 80, top=1)
    assert not any("flapper" in line for line in lines)
    assert any(line.startswith("2 groups, 1 shown: 1 NOT_BY_MEMBERS, 1 UNKNOWN.") for line in lines)
    assert any("west" in line for line in sizes([*_NEEDS, ("west", "g", _NEEDS[1][2])], 80))


def test_as_json(warehouse: str, what_if: Typed) -> None:
    document = what_if("--members", "+1", "--json", warehouse=warehouse).document
    expected = ("c", "g", "2026-03-01T10:00:00Z/2026-03-01T11:00:00Z")
    assert (document["cluster"], document["consumer_group"], document["interval"]) == expected
    (case,) = document["cases"]
    assert (case["label"], case["members"], case["highest"], case["at_most"]) == ("--members +1", 3, 4500, False)
    assert len(document["times"]) == len(case["curve"]) == len(document["recorded"]["curve"])
    drawn = dict(zip(document["times"], document["recorded"]["curve"], strict=True))
    # The state of 10:10 holds for 60 seconds without another, but there is no sample then.
    assert [drawn[f"2026-03-01T10:{moment}:00Z"] for moment in ("00", "01", "10", "11")] == [0, 600, 6000, None]


def test_a_plan_says_who_would_own_what(warehouse: str, what_if: Typed) -> None:
    assert what_if("--plan", 1, warehouse=warehouse).lines[:3] == [
        "change=-1 members=1 idle=0 unassigned_queues=0 double_owned_queues=0 c1: 8 queues, 20.0 of ≥ 10.0 ?",
        "change=+0 members=2 idle=0 unassigned_queues=4 double_owned_queues=4 c1: 4 queues, 10.0 of ≥ 10.0; "
        "c1: 4 queues, 10.0 of ≥ 10.0",
        "change=+1 members=3 idle=0 unassigned_queues=3 double_owned_queues=3 c1: 3 queues, 7.5 of ≥ 10.0; "
        "c1: 3 queues, 7.5 of ≥ 10.0; ~new-0002: 2 queues, 5.0 of ≥ 10.0",
    ]


def test_a_rollout_is_shown_as_it_was_and_in_other_orders() -> None:
    was, other = (
        RolloutOutcome("as it was", 4, 1200, 40.0, None, None),
        RolloutOutcome("new-first", 2, 4, None, 1200, 3000),
    )
    rollout = Rollout(micros(100), micros(240), {"a", "b"}, {"a", "b"}, {"c", "d"}, 1, [])
    answer = GroupRollout(STEPS, RolloutComparison(rollout, 20.0, [was, other]))
    text = shown(lambda console: show_rollout(console, answer), 100, on_terminal=True)
    lines = [" ".join(line.split()) for line in text]
    assert "g: the rollout of 2 members from 2026-03-01T10:01:40Z to 2026-03-01T10:04Z" in lines
    assert "as it was 4 1,200 40 s unknown unknown" in lines
    assert "new-first 2 4 unknown 1,200 3,000" in lines
    assert any("Pauses are by samples, which may hide 20 s of each." in line for line in lines)


def test_the_backlogs_are_drawn(warehouse: str, tmp_path: Path, what_if: Typed) -> None:
    file = tmp_path / "drawn.html"
    what_if("--members", "+1", "--html", file, warehouse=warehouse)
    page = file.read_text(encoding="utf-8")
    assert "what really happened" in page
    (packed,) = re.findall(r'data-gzip="(.*)"', page)
    assert "--members +1" in gzip.decompress(base64.b64decode(packed)).decode()
    assert not re.search(r"<(script|link|img)[^>]* (src|href)=", page)


def test_every_member_of_a_plan_has_a_line_on_a_terminal() -> None:
    """Hostile names stay escaped; the line breaks are ours."""
    members = [PlannedMember(name, 1, 2.0, 3.0, True, True) for name in ("c1", "c\n\x1b[2J")]
    plan = GroupPlan(STEPS, Plan(0, [PlannedSize(0, members, 0, 0)]))
    lines = [line.strip() for line in shown(lambda console: show_plan(console, plan), 100, on_terminal=True)]
    assert any(line.endswith(" c1: 1 queue, 2.0 of 3.0") for line in lines)
    assert "c\\n\\x1b[2J: 1 queue, 2.0 of 3.0" in lines


@pytest.mark.parametrize(
    "words",
    [
        *(["--case", "--unique-ids"], ["--case=--unique-ids"]),
        *(["--members=-2"], ["--without", "c1"], ["--members=+1", "--speed", "~new-0002=1"]),
        ["--unique-ids", "--speed", "c1#twin1=3"],
        ["--members", "+1", "--interval", str(HOUR)],
    ],
)
def test_a_case_that_can_be_played(warehouse: str, words: list[str], what_if: Typed) -> None:
    (_, case, *_) = what_if(*words, warehouse=warehouse).lines
    assert case.startswith("--")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "say what to change"),
        ("--members 3", "--members cannot be '3': write one of +2, -2, =2"),
        ("--queues +2", "--queues cannot be '+2': write one of x2, =2"),
        ("--queues x0", "--queues cannot be 'x0'"),
        ("--strategy ODD", "--strategy cannot be 'ODD': choose one of AVG"),
        ("--members=+1 --room b", "no client_room is configured for the group: leave out --room"),
        ("--strategy AVG:3", "--strategy cannot be 'AVG:3'"),
        ("--strategy MACHINE_ROOM", "MACHINE_ROOM cannot be replayed without its rooms"),
        ("--speed c1", "--speed cannot be 'c1'"),
        ("--strategy AVG_BY_CIRCEL", "--strategy cannot be 'AVG_BY_CIRCEL': did you mean AVG_BY_CIRCLE"),
        ("--without nobody", "--without nobody: there was no member nobody: the members were c1"),
        ("--without c2", "there was no member c2: did you mean c1?"),
        ("--speed nobody=25", "--speed nobody=25: there was no member nobody: the members were c1"),
        ("--case '--members +1 --speed ~new-0003=1'", "there was no member ~new-0003: did you mean ~new-0002?"),
        ("--members=-9", "--members -9: there were never more than 2 members"),
        ("--members=-1 --without c1", "--members -1 --without c1: there were never more than 0 members"),
        ("--members=+1 --interval 2026-03-01T10:10/2026-03-01T10:20", "the whole steps around it are 2026"),
        ("--plan 2 --members=+1", "members less and more: leave out --members +1"),
        ("--plan 2 --case --unique-ids --html x", "leave out --case --unique-ids --html x"),
        ("--plan 2 --rollout all", "leave out --rollout all"),
        ("--rollout all --members=+1", "--rollout shows the last rollout in another order: leave out --members +1"),
        ("--rollout all", "g had no rollout in 2026-03-01T10:00Z/2026-03-01T11:00Z: name the time of one with --inter"),
        ("--threads 0", "--threads cannot be '0': write 1 to 1000, or CLIENT_ID=1000 for one member"),
        ("--threads c2=4", "--threads c2=4: there was no member c2: did you mean c1?"),
        ("--pull-interval 1s", "--pull-interval cannot be '1s': write 0 to 65535"),
        ("--response-time 20", "--response-time cannot be '20': write 20ms or 1.5s"),
        ("--load 2", "--load cannot be '2': write x2 or x1.5"),
        ("--load x0", "--load cannot be 'x0'"),
        ("--autoscale max=3", "--autoscale cannot be 'max=3': write lag=1000,max=16, and if you like min=1,every"),
        ("--autoscale lag=9,max=3,min=4", "--autoscale cannot be 'lag=9,max=3,min=4'"),
        ("--autoscale lag=9,max=3,every=0s", "write times such as every=15s or every=5m"),
        ("--autoscale lag=9,max=3 --members +1", "an autoscaler sets the number of members: leave out --mem"),
        ("--size --members +1 --load x2", "--size tries groups of other sizes: leave out --members +1"),
        ("--size --plan 2", "--size tries groups of other sizes: leave out --plan 2"),
        ("--members +1 --backlog-below 5", "--backlog-below belongs to --size: add --size"),
        ("--size --spare 2", "--spare is for the verdicts on all groups: leave out --group or --spare"),
        ("--size --top 2", "--top is for the verdicts on all groups: leave out --group or --top"),
        ("--members +1 --top 2", "--top belongs to --size: add --size"),
        ("--members +1 --spare 2", "--spare belongs to --size: add --size"),
        ("--case", "argument --case: expected one argument"),
        ("--case '--odd 3'", "the case '--odd 3' has no '--odd'"),
        ("--case ''\"'\"''", "the case ''' cannot be read"),
    ],
)
def test_a_case_that_cannot_be_read(warehouse: str, words: str, message: str, what_if: Typed) -> None:
    assert message in what_if(*shlex.split(words), warehouse=warehouse, code=3).err
