"""Incidents as a person sees them: lines, a table, one in full."""

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.cli.commands.incidents import incidents_document, show_incidents
from spark_jobs.domain.coverage import NO_COVERAGE, Coverage, GroupCoverage, Seen, SilentTime
from spark_jobs.domain.incidents.values import GroupCost, Incident, IncidentPart
from spark_jobs.show.incidents import Incidents
from spark_jobs.show.text.incident_text import advice_text, incident_lines, peak_text, state_text, worst_first
from tests.support.consoles import shown
from tests.support.times import HOUR, micros

PART = IncidentPart("g", "GROUP_OFFLINE", "NO_MEMBERS", "ERROR", None, "g", micros(0), micros(90), ("f1", "f2"))
UNOWNED = PART._replace(rule="UNASSIGNED_QUEUE", cause="GROUP_OFFLINE", topic="t", subject="b:0-1", finding_ids=("f3",))


def incident(**values: Any) -> Incident:
    known: dict[str, Any] = (
        {"incident_id": "0123456789abcdef", "cluster": "eu", "consumer_groups": ("g",), "topics": ("t",)}
        | {"rule": "GROUP_OFFLINE", "cause": "NO_MEMBERS", "causes": ("NO_MEMBERS",), "severity": "ERROR"}
        | {"headline": "No consumer of g is connected", "advice": "Start it."}
        | {"opened_at": micros(0), "resolved_at": micros(90), "last_seen_at": micros(90)}
        | {"queues": (("t", "b", 0), ("t", "b", 1)), "client_ids": (), "root_causes": (PART,), "symptoms": (UNOWNED,)}
        | {"peak_backlog_messages": 12345, "unassigned_queue_minutes": 3.0, "costs": (GroupCost("g", 12345, 3.0),)}
    )
    return Incident(**known | values)


#: Of the hour in which they are.
WHOLE = Coverage(HOUR, [GroupCoverage("eu", "g", Seen.WHOLE, 1.0, 3600.0)])


def listed(*incidents: Incident) -> list[str]:
    return shown(lambda console: show_incidents(console, incidents, WHOLE), 40)


def on_terminal(width: int, *incidents: Incident) -> list[str]:
    return shown(lambda console: show_incidents(console, incidents, WHOLE), width, on_terminal=True)


def test_incidents_are_lines_where_nobody_watches() -> None:
    unknown: dict[str, Any] = {"resolved_at": None, "peak_backlog_messages": None}
    hostile = incident(severity="WARN", headline="[red]:bomb:\x1b[2J", consumer_groups=("a", "b", "c"), **unknown)
    many = incident(consumer_groups=("a", "b", "c", "d"), cluster="us", opened_at=micros(0.123456))
    assert listed(incident(), hostile) == [
        "ERROR GROUP_OFFLINE group=g since=2026-03-01T10:00Z (1 min 30 s, over) id=01234567 "
        "No consumer of g is connected",
        "WARN GROUP_OFFLINE groups=a,b,c since=2026-03-01T10:00Z (1 min 30 s, open) id=01234567 [red]:bomb:\\x1b[2J",
        "2 incidents: 1 ERROR, 1 WARN; 1 is open",
    ]
    assert listed(incident(), many)[1] == (
        "ERROR GROUP_OFFLINE groups=4 cluster=us since=2026-03-01T10:00Z (1 min 30 s, over) id=01234567 "
        "No consumer of g is connected"
    )
    assert listed() == ["No incidents in 1 group of eu, 2026-03-01T10:00Z/2026-03-01T11:00Z, 100 % observed."]


def test_what_is_missing_of_the_whole_follows_the_list() -> None:
    silent = replace(WHOLE, silent=[SilentTime("eu", micros(3000), micros(3600))])
    nothing = shown(lambda console: show_incidents(console, [], silent), 40)
    one = shown(lambda console: show_incidents(console, [incident()], silent), 40)
    missing = "Nothing was recorded of the cluster eu from 2026-03-01T10:50Z to 2026-03-01T11:00Z."
    hour = "2026-03-01T10:00Z/2026-03-01T11:00Z"
    assert nothing == [f"No incidents are known in 1 group of eu, {hour}, 100 % observed.", missing]
    assert one[1:] == ["1 incident: 1 ERROR; 0 are open", missing]
    assert shown(lambda console: show_incidents(console, [], NO_COVERAGE), 40) == [
        "No incidents are known.",
        "Nothing was recorded.",
    ]


def test_whose_an_incident_is() -> None:
    one = incident(costs=(GroupCost("g", 12345, 3.0, "a"), GroupCost("h", None, 0, "b"), GroupCost("i", None, 0)))
    assert " group=g teams=a,b since=" in listed(one)[0]
    assert any(line.split()[-5:] == ["a,b", "03-01", "10:00", "g", "GROUP_OFFLINE"] for line in on_terminal(130, one))
    assert lines_of(one)[7] == "  Teams: a, b"
    (document,) = incidents_document(Incidents([one], WHOLE))["incidents"]
    assert (document["teams"], [cost["team"] for cost in document["costs"]]) == (["a", "b"], ["a", "b", None])


def test_the_worst_comes_first_and_the_end_of_the_recording_last() -> None:
    by_hand = [
        incident(resolved_at=None, peak_backlog_messages=None),
        incident(rule="MESSAGES_SKIPPED", causes=("BEGAN_AT_END",), peak_backlog_messages=3),
        incident(peak_backlog_messages=7),
        incident(peak_backlog_messages=7, opened_at=micros(-1)),
        incident(rule="MESSAGES_SKIPPED", causes=("COMMITTED_UNREAD",), peak_backlog_messages=3),
        incident(peak_backlog_messages=None),
        incident(severity="WARN", resolved_at=None, peak_backlog_messages=9),
        incident(severity="INFO"),
        incident(severity="INFO", rule="UNOBSERVED", resolved_at=None, peak_backlog_messages=99),
    ]
    assert worst_first(reversed(by_hand)) == by_hand


SENTENCE, STATE = ["No", "consumer", "of", "g", "is", "connected"], ["over,", "1", "min", "30", "s"]


@pytest.mark.parametrize(
    ("width", "more"),
    [
        (87, []),
        (100, ["03-01", "10:00"]),
        (107, ["03-01", "10:00", "g"]),
        (130, ["03-01", "10:00", "g", "STRANDED_WRITE_QUEUES"]),
    ],
)
def test_an_incident_is_a_row_of_a_table(width: int, more: list[str]) -> None:
    """The sentence is the first and stays; the rule is the last, and the first that a terminal has no room for."""
    lines = on_terminal(width, incident(rule="STRANDED_WRITE_QUEUES"), incident(headline="words " * 40))
    rows = [line.split() for line in lines]
    assert rows[0] == ["Incidents", "(UTC)"]
    assert ["ERROR", *SENTENCE, *STATE, "12,345", "01234567", *more] in rows
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_sentence_is_whole_and_inert_on_any_terminal(width: int) -> None:
    unknown: dict[str, Any] = {"resolved_at": None, "peak_backlog_messages": None}
    hostile = incident(headline="[red]x\x9b " + "words " * 40, consumer_groups=("payment-service", "b"), **unknown)
    text = " ".join(on_terminal(width, hostile, incident(cluster="eu-prod", **DELETED)))
    assert "[red]x\\x9b" in text
    assert text.count("words") == 40
    assert all(word in text for word in ("open,", "deleted,", "unknown", "eu-prod", "01234567"))


def lines_of(one: Incident) -> list[str]:
    return [f"{'  ' * line.indent}{line.text}" for line in incident_lines(one)]


def test_one_in_full_says_what_when_where_and_what_to_do() -> None:
    assert lines_of(incident()) == [
        "No consumer of g is connected (cluster eu)",
        "ERROR GROUP_OFFLINE, NO_MEMBERS; incident 0123456789abcdef",
        "From 2026-03-01T10:00Z to 2026-03-01T10:01:30Z (1 min 30 s).",
        "What to do: Nothing now: a consumer was connected again at 2026-03-01T10:01:30Z. To prevent it, or if it "
        "happens again: Start it.",
        "",
        "Where",
        "  Group: g",
        "  Topic: t",
        "  2 queues: t b:0-1",
        "  Peak backlog: 12,345 messages.",
        "  Queues had no owner for 3.0 queue-minutes in total.",
        "",
        "Root cause",
        "  ERROR GROUP_OFFLINE (NO_MEMBERS) in g",
        "    From 2026-03-01T10:00Z to 2026-03-01T10:01:30Z, 2 findings.",
        "",
        "Symptoms",
        "  ERROR UNASSIGNED_QUEUE (GROUP_OFFLINE) in g, t: b:0-1",
        "    From 2026-03-01T10:00Z to 2026-03-01T10:01:30Z, 1 finding.",
        "",
        "About the rule: rebalance-audit rule GROUP_OFFLINE",
    ]


DELETED: dict[str, Any] = {"resolution": "DELETED", "resolved_at": micros(110)}
OF_TOPIC = DELETED | {"resolution": "TOPIC_DELETED"}
_SPAN, _AT = (
    "From 2026-03-01T10:00Z to 2026-03-01T10:01:30Z (1 min 30 s)",
    "was deleted at 2026-03-01T10:01:50Z: no broker listed it any more.",
)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"resolved_at": None},
         "Open since 2026-03-01T10:00Z, last seen at 2026-03-01T10:01:30Z (1 min 30 s); nothing is known after that."),
        ({"resolved_at": micros(150)},
         f"{_SPAN}, perhaps longer: it was gone at 2026-03-01T10:02:30Z, the time between is unknown."),
        (DELETED, f"{_SPAN}; the group {_AT}"),
        (DELETED | {"consumer_groups": ("g", "h")}, f"{_SPAN}; the last of its groups {_AT}"),
        (OF_TOPIC, f"{_SPAN}; the topic {_AT}"),
        (OF_TOPIC | {"topics": ("t", "u")}, f"{_SPAN}; the last of its topics {_AT}"),
    ],
)  # fmt: skip
def test_a_sentence_says_until_when_it_lasted(values: dict[str, Any], sentence: str) -> None:
    assert lines_of(incident(**values))[2] == sentence


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ({"resolved_at": None}, "Start it."),
        ({"resolved_at": micros(150)}, "Nothing now: a consumer was connected again by 2026-03-01T10:02:30Z. "
         "To prevent it, or if it happens again: Start it."),
        (DELETED, "Nothing: the group was deleted at 2026-03-01T10:01:50Z."),
        (OF_TOPIC, "Nothing: the topic was deleted at 2026-03-01T10:01:50Z."),
        # What was skipped is not back when it is over, nor what a broker lost.
        ({"rule": "MESSAGES_SKIPPED"}, "It was over at 2026-03-01T10:01:30Z. Start it."),
        ({"rule": "BROKER_NOT_READABLE", "cause": "STORE_LOST"}, "It was over at 2026-03-01T10:01:30Z. Start it."),
        ({"rule": "BROKER_NOT_READABLE", "cause": "LEFT_ROUTE"}, "Nothing now: consumers could read the queues again "
         "at 2026-03-01T10:01:30Z. To prevent it, or if it happens again: Start it."),
    ],
)  # fmt: skip
def test_the_advice_says_what_ended_it(values: dict[str, Any], advice: str) -> None:
    assert advice_text(incident(**values)) == advice


def test_commands_of_one_kind_say_once_what_to_look_for() -> None:
    route, cluster = "mqadmin topicRoute -n NAMESRV -t ", "mqadmin clusterList -n NAMESRV"
    lines = lines_of(incident(commands=(f"{route}t", f"{route}u", cluster)))
    assert lines[4:9] == [
        f"  {route}t",
        f"  {route}u",
        "    Look in queueDatas for each broker: perm 6 is read and write, 4 read only, 2 write only.",
        f"  {cluster}",
        "    Look for a broker without a line with #BID 0 (its master), and whether clients reach its #Addr.",
    ]


def test_a_list_names_what_was_deleted() -> None:
    deleted = incident(**DELETED)
    assert state_text(deleted) == (
        "2026-03-01T10:00Z – 2026-03-01T10:01:50Z, group deleted, peak backlog 12,345 messages"
    )
    assert ", topic deleted, " in state_text(incident(**OF_TOPIC))
    assert "(1 min 30 s, deleted)" in listed(deleted)[0]


def test_causes_before_the_worst_and_long_lists() -> None:
    many: dict[str, Any] = {"consumer_groups": tuple(f"g{n:02}" for n in range(22)), "root_causes": (PART,) * 23}
    lines = lines_of(incident(causes=("B", "A"), cause="A", **many))
    assert lines[1] == "ERROR GROUP_OFFLINE, A, at times B; incident 0123456789abcdef"
    assert lines[6].endswith("g18, g19 and 2 more")
    assert "  … and 3 more." in lines


def test_a_client_with_the_name_of_its_group_is_named() -> None:
    unseen = PART._replace(rule="GHOST_MEMBER", cause="C", client_id="g")
    other = unseen._replace(consumer_group="h", subject="h", client_id="h")
    lines = [line.text for line in incident_lines(incident(root_causes=(unseen, other), symptoms=()))]
    assert "ERROR GHOST_MEMBER (C) in g: g" in lines
    assert "ERROR GHOST_MEMBER (C) in h: h" in lines


def test_what_holds_for_many_groups_stands_once() -> None:
    """Of whole groups, less than a minute apart; not of others, and not of a second time."""
    unseen = PART._replace(rule="UNOBSERVED", cause="NO_SNAPSHOTS", severity="INFO", finding_ids=("f",))
    several = [
        unseen._replace(consumer_group=name, subject=name, started_at=micros(second), ended_at=micros(end))
        for name, second, end in (("a", 0, 900), ("b", 59, 900), ("c", 0, 959), ("d", 60, 900), ("e", 61, 961))
    ]
    lines = [line.text for line in incident_lines(incident(root_causes=(*several, UNOWNED), symptoms=()))]
    assert lines[lines.index("Root cause") + 1 :] == [
        "INFO UNOBSERVED (NO_SNAPSHOTS) in a, b, c",
        "From 2026-03-01T10:00Z to 2026-03-01T10:15:59Z, 3 findings.",
        "INFO UNOBSERVED (NO_SNAPSHOTS) in d",
        "From 2026-03-01T10:01Z to 2026-03-01T10:15Z, 1 finding.",
        "INFO UNOBSERVED (NO_SNAPSHOTS) in e",
        "From 2026-03-01T10:01:01Z to 2026-03-01T10:16:01Z, 1 finding.",
        "ERROR UNASSIGNED_QUEUE (GROUP_OFFLINE) in g, t: b:0-1",
        "From 2026-03-01T10:00Z to 2026-03-01T10:01:30Z, 1 finding.",
        "",
        "About the rule: rebalance-audit rule GROUP_OFFLINE",
    ]


def test_a_peak_is_a_bound_where_messages_came_to_queues_without_an_offset() -> None:
    known = incident(resolved_at=None, backlog_is_minimum=True)
    assert state_text(known) == "open since 2026-03-01T10:00Z, peak backlog at least 12,345 messages"
    unknown = replace(known, peak_backlog_messages=None)
    assert (peak_text(known), peak_text(replace(known, backlog_is_minimum=False))) == ("≥ 12,345", "12,345")
    assert (state_text(unknown), peak_text(unknown)) == ("open since 2026-03-01T10:00Z", "unknown")
