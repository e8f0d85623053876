"""Names come from clients and may hold anything: they stay what they are, and steer no terminal."""

import dataclasses
import io
import json

import pytest
from rich.console import Console

from spark_jobs.cli.commands.explain import show_explanation
from spark_jobs.cli.documents import as_json
from spark_jobs.show.explain import explain
from spark_jobs.show.text.explanation_text import lines
from spark_jobs.show.text.intervals import GroupStep
from spark_jobs.show.text.phrases import TextLine
from tests.support.consoles import shown
from tests.support.rows import allocation, finding, group_step, interval, member, progress

HOSTILE = {
    "escape": "\x1b[2J\x1b]0;owned\x07",
    "eight bits": "\x9b31m",
    "right to left": "safe\u202egro.live\u2069",
    "script": "<script>alert(1)</script>",
    "markup": "[red]x[/red] [link=file:///]",
    "emoji": ":warning: :bomb:",
    "long": "g" * 255,
    "lines": "a\nb\r\tc",
    "surrogate": "\ud83d",
    "braces": "{} {0} %s",
}
#: As a reader sees it; what is not here stays as it is.
SEEN = {
    "escape": "\\x1b[2J\\x1b]0;owned\\x07",
    "eight bits": "\\x9b31m",
    "right to left": "safe\\u202egro.live\\u2069",
    "lines": "a\\nb\\r\\tc",
    "surrogate": "\\ud83d",
}


def named(name: str) -> GroupStep:
    """A group in which everything has that name: members, broker, topic, subject, advice."""
    twins = member(name, name), member(name, f"{name}2")
    triggers = [{"trigger_type": "MEMBER_JOINED", "subject": name}]
    row = interval(30, 60, *twins, topic=name, membership_view=name, triggers=triggers)
    row["queues"] = [{"broker_name": name, "queue_id": number} for number in range(2)]
    lost = {"unassigned_cause": "DUPLICATE_CLIENT_ID", "unassigned_client_id": name}
    told = {"conflicting_values": [{"name": name, "client_ids": [name]}]}
    return dataclasses.replace(
        group_step(
            40,
            row,
            allocations=[
                allocation(row, f"{name}:0", *twins, double_owned_cause="DUPLICATE_CLIENT_ID"),
                allocation(row, f"{name}:1", **lost),
            ],
            progress=[progress(row, f"{name}:0")],
            findings=[finding(topic=name, subject=name, advice=name, evidence=told)],
        ),
        cluster=name,
        consumer_group=name,
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_inert_in_plain_lines(name: str) -> None:
    explanation, seen = lines(explain(named(HOSTILE[name]))), SEEN.get(name, HOSTILE[name])
    text = shown(lambda console: show_explanation(console, explanation), 40)
    assert text[0] == f"{seen} (cluster {seen}) at 2026-03-01T10:00:40Z"
    assert f"    0  {seen}  {seen} (shares its client id with index 1)" in text
    assert f"    No member owned {seen}:1 (1 queue): assigned to a later index of {seen}, which" in "\n".join(text)
    assert f"  It began because {seen} joined. No queue changed owner." in text
    assert f"    What to do: {seen}" in text
    assert "".join(text).isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_stays_inert_on_a_terminal(name: str) -> None:
    """Folded at the width, in no other color than ours."""
    explanation, seen = lines(explain(named(HOSTILE[name]))), SEEN.get(name, HOSTILE[name])
    text = shown(lambda console: show_explanation(console, explanation), 60, on_terminal=True)
    assert "".join(text).isprintable()
    assert "".join(seen.split()) in "".join("".join(text).split())
    assert max(map(len, text)) <= 60


def test_what_is_folded_stays_at_its_depth() -> None:
    folded = [TextLine("one two three", 2), TextLine("four", 0)]
    text = shown(lambda console: show_explanation(console, folded), 12, on_terminal=True)
    assert [line.rstrip() for line in text] == ["    one two", "    three", "four"]


def test_colors_are_for_terminals() -> None:
    file = io.StringIO()
    terminal = Console(file=file, width=80, force_terminal=True, color_system="standard")
    show_explanation(terminal, [TextLine("bad", 1, "ERROR"), TextLine("so", 0)])
    assert "\x1b[1;31mbad\x1b[0m" in file.getvalue()
    assert shown(lambda console: show_explanation(console, [TextLine("bad", 1, "ERROR")])) == ["  bad"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_gets_the_name_itself(name: str) -> None:
    document = as_json(dataclasses.asdict(explain(named(HOSTILE[name]))))
    assert document.isascii()
    read = json.loads(document)
    assert (read["consumer_group"], read["topics"][0]["topic"]) == (HOSTILE[name],) * 2
    assert read["topics"][0]["views"][0]["members"][1]["client_id"] == HOSTILE[name]


def test_what_several_pop_by_design_is_called_so() -> None:
    row = interval(30, 60, member("c1"), member("c2"))
    shared = allocation(row, "b:0", member("c1"), member("c2"), double_owned_cause="POP_SHARED")
    story = explain(group_step(40, row, allocations=[shared]))
    (line,) = (one for one in lines(story) if "popped" in one.text)
    expected = ("b:0 (1 queue) could be popped by indexes 0 and 1: each message goes to one of them.", "")
    assert (line.text, line.part) == expected
