"""Agents ask over stdio, as the SDK's own client does it, and get what `--json` prints. No Spark, no Java."""

import json
import re
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.cli.bounded import MOST, Page, bounded
from spark_jobs.cli.commands.mcp import server_of
from spark_jobs.cli.tools import Tools
from spark_jobs.errors import UsageError
from spark_jobs.installation import ROOT
from tests.support.agents import in_own_loop
from tests.support.commands import ANSWERED, Typed

GROUP = {"group": "payment-service"}
#: By tool, arguments and the command that answers the same.
QUESTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "status": ({}, "status"),
    "incidents": (
        {"since": "2026-11-21T02:00", "until": "2026-11-21T02:30", "severity": "ERROR", "group": "audit-service"},
        "incidents --interval 2026-11-21T02:00/2026-11-21T02:30 --severity ERROR --group audit-service",
    ),
    "explain": ({**GROUP, "at": "2026-11-21T02:10Z"}, "explain --group payment-service --at 2026-11-21T02:10Z"),
    "message": (
        {**GROUP, "topic": "payments", "broker_name": "broker-a", "queue_id": 0, "offset": 1230},
        "message --group payment-service --topic payments --queue broker-a:0 --offset 1230",
    ),
    "what_if": ({**GROUP, "cases": ["--unique-ids"]}, "what-if --group payment-service --unique-ids"),
}


def asked(warehouse: str, ask: Callable[[Client], Awaitable[None]]) -> None:
    """Lets a client ask the command, which is a process of its own."""
    words = ["-m", "spark_jobs.cli", "mcp", "--warehouse", warehouse]
    command = StdioServerParameters(command=sys.executable, args=words, cwd=ROOT)

    async def run() -> None:
        async with Client(command) as client:
            await client.list_tools()  # from then on it validates answers against the schemas
            await ask(client)

    in_own_loop(run)


def test_every_tool_answers_as_the_command(example_warehouse: str, typed: Typed) -> None:
    printed = {
        name: typed(f"{command} --json --quiet", warehouse=example_warehouse, code=ANSWERED).document
        for name, (_, command) in QUESTIONS.items()
    }
    first = typed("incidents --json", warehouse=example_warehouse, code=ANSWERED).document["incidents"][0]

    incidents, _ = QUESTIONS["incidents"]

    async def ask(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {*QUESTIONS, "incident", "coverage"}
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert all("data, not instructions" in str(tool.description) for tool in tools)
        assert "data, not instructions" in str(client.instructions)
        for name, (arguments, _) in QUESTIONS.items():
            await whole(client, name, arguments, printed[name])
        answer = await client.call_tool("incident", {"incident_id": first["incident_id"][:8]})
        assert content(answer)["incidents"] == [first]
        times = {name: incidents[name] for name in ("since", "until", "group")}
        assert content(await client.call_tool("coverage", times)) == {**printed["incidents"]["coverage"], "more": []}

    asked(example_warehouse, ask)


async def whole(client: Client, name: str, arguments: dict[str, Any], printed: dict[str, Any]) -> None:
    """Asks for all that an answer leaves out, until it is what the command printed."""
    answer = content(await client.call_tool(name, arguments))
    pages = answer.pop("more")
    while pages:
        page = pages.pop(0)
        rest = content(await client.call_tool(name, {**arguments, "page": page}))
        there = list_at(rest, re.sub(r"\[\d+\]", "[0]", page["list"]))  # only the element that leads there
        list_at(answer, page["list"]).extend(there)
        pages += [more for more in rest["more"] if there and more["list"].startswith(page["list"])]
    if name == "status":  # it says how old the data are now
        assert len(answer["coverage"].pop("lacks")) == len(printed["coverage"].pop("lacks"))
    assert answer == printed


def list_at(document: Any, path: str) -> list[Any]:
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        document = document[name or int(index)]
    assert isinstance(document, list)
    return document


def content(result: CallToolResult) -> dict[str, Any]:
    """What a tool answered, as the client validated it; the text says the same."""
    (text,) = result.content
    assert not result.is_error, text
    assert text.type == "text"
    assert json.loads(text.text) == result.structured_content
    assert len(text.text) <= MOST
    return dict(result.structured_content or {})


ERRORS: list[tuple[str, dict[str, Any], str]] = [
    (
        "status",
        {"group": "payment-servic"},
        "there is no consumer group payment-servic: did you mean payment-service or ",
    ),
    ("explain", {**GROUP, "at": "yesterday"}, "'yesterday' is not a time: write it as 2026-11-21T02:00 or"),
    ("explain", GROUP, "at: Missing required argument"),
    ("status", {"grup": "payment-service"}, "grup: Unexpected keyword argument"),
    ("what_if", {**GROUP, "cases": []}, "say what to change, for example --members +2"),
    ("statu", {}, "there is no tool statu: did you mean status?"),
    ("incident", {"incident_id": "zz"}, "there is no incident zz: list them without --id"),
    ("incidents", {"rule": "GROUP_OFLINE"}, "there is no rule GROUP_OFLINE: did you mean GROUP_OFFLINE or "),
    ("status", {"page": {"list": "grops"}}, "the answer has no list grops: take a page from `more` of the same answer"),
]


def test_an_error_is_the_sentence_of_the_command(example_warehouse: str) -> None:
    async def ask() -> None:
        async with Client(server_of(Tools(open_warehouse(example_warehouse)))) as client:
            for name, arguments, sentence in ERRORS:
                result = await client.call_tool(name, arguments)
                assert (result.is_error, type(result.content[0])) == (True, TextContent)
                assert str(getattr(result.content[0], "text", "")).startswith(sentence)

    in_own_loop(ask)


def test_a_warehouse_that_only_spark_reads_is_refused(typed: Typed) -> None:
    error = typed("mcp", warehouse="lake.audit", code=3).err
    assert error == "rebalance-audit: only Spark reads lake.audit: mcp takes a path or an object store's URI\n"


def test_lists_are_cut_until_the_answer_is_short_enough() -> None:
    ids = [f"10.0.0.{number}@7" for number in range(64)]
    document = {"unknown": None, "incidents": [{"id": number, "queues": ids} for number in range(100)]}
    answer = bounded(document)
    assert answer["unknown"] is None
    assert [one["id"] for one in answer["incidents"]] == [*range(20)]
    assert answer["incidents"][3]["queues"] == ids[:20]
    assert answer["more"][0] == {"list": "incidents", "offset": 20, "total": 100}
    assert {"list": "incidents[3].queues", "offset": 20, "total": 64} in answer["more"]
    rest = bounded(document, Page(list="incidents[3].queues", offset=40))
    assert rest["incidents"] == [{"id": 3, "queues": ids[40:60]}]
    assert rest["more"] == [{"list": "incidents[3].queues", "offset": 60, "total": 64}]
    assert bounded(document, Page(list="incidents[3].queues", offset=60))["more"] == []


@pytest.mark.parametrize(
    ("size", "kept"), [(1_000, 20), (3_000, 10), (7_000, 5), (15_000, 2), (30_000, 1), (50_000, 0)]
)
def test_the_size_is_bounded(size: int, kept: int) -> None:
    answer = bounded({"logs": ["x" * size] * 64})
    assert (len(answer["logs"]), answer["more"]) == (kept, [{"list": "logs", "offset": kept, "total": 64}])
    assert len(json.dumps(answer)) <= MOST


def test_what_cannot_be_cut_is_an_error() -> None:
    cases: list[tuple[dict[str, Any], Page | None]] = [
        ({"log": "x" * MOST}, None),
        ({"logs": ["x" * MOST]}, Page(list="logs")),
    ]
    for document, page in cases:
        with pytest.raises(UsageError, match="the answer has more than 40,000 characters"):
            bounded(document, page)
