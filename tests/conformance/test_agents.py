"""Twelve questions of people on call, answered from the tools of `mcp` alone: which calls, and which fields.

The answers are those of the reports (`field/*.yaml`), and of who stopped a recorder. No Spark.
"""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from mcp import Client

from spark_jobs.api.warehouse import open_warehouse
from spark_jobs.cli.commands.mcp import server_of
from spark_jobs.cli.tools import Tools
from tests.conformance.test_field import HOUR, INTERVAL_SECONDS, RECORDINGS
from tests.support.agents import in_own_loop
from tests.support.look import audit_into


class Call(NamedTuple):
    """A tool, what it is asked, and what it answers: by path a value, or the beginning of a text as a pattern."""

    tool: str
    arguments: dict[str, Any]
    answers: dict[str, Any]


def text(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


QUESTIONS: dict[str, list[Call]] = {
    "Is anything wrong now?": [
        Call(
            "status",
            {"group": "iot_message_consumer"},
            {"groups[0].worst.severity": "ERROR", "groups[0].worst.is_over": False, "coverage.is_whole": True},
        ),
    ],
    "Is this group healthy?": [
        Call("incidents", {"group": "member-sync", "severity": "ERROR"}, {"incidents": []}),
        Call("incidents", {"group": "member-sync", "severity": "WARN"}, {"incidents": []}),
        Call("coverage", {"group": "member-sync"}, {"not_whole": []}),
    ],
    "Why did device-consumer pile up at 02:20?": [
        Call(
            "explain",
            {"group": "device-consumer", "at": "2026-11-21T02:20Z"},
            {"findings[0].rule": "BROKER_NOT_READABLE", "findings[0].cause": "NOT_REACHED"},
        ),
    ],
    "Which queues had no owner, and since when?": [
        Call(
            "explain",
            {"group": "iot_message_consumer", "at": "2026-11-21T02:30Z", "topic": "iot-message"},
            {"topics[0].views[0].unassigned[0].queues": text("broker-b:0-3$")},
        ),
        Call("incidents", {"group": "iot_message_consumer"}, {"incidents[0].opened_at": text("2026-11-21T02:10:")}),
    ],
    "Would more consumers help?": [
        Call(
            "status",
            {"group": "bill-writer"},
            {"groups[0].advice": text("No.*what the listener calls"), "groups[0].bottleneck": "DEPENDENCY"},
        ),
    ],
    "Which client is the cause?": [
        Call(
            "incidents",
            {"group": "voucher-issue"},
            {"incidents[0].client_ids": ["10.99.0.5@4242"], "incidents[0].causes": ["LISTENER_FAILS"]},
        ),
    ],
    "What did the host 10.35.122.3 do, and since when?": [
        Call(
            "incidents",
            {"client": "10.35.122.3"},
            {
                "incidents[0].rule": "SLOW_LISTENER",
                "incidents[0].consumer_groups": ["ticket-mail"],
                "incidents[0].opened_at": "2026-11-21T02:09:45Z",
                "incidents[0].resolved_at": None,
            },
        ),
    ],
    "How many messages wait?": [
        Call(
            "incidents",
            {"group": "device-consumer", "only_open": True},
            {"incidents[0].peak_backlog_messages": pytest.approx(43_200, rel=0.05)},
        ),
    ],
    "Is it over, and since when?": [
        Call(
            "incidents",
            {"group": "risk-score"},
            {"incidents[0].resolved_at": "2026-11-21T02:22:25Z", "incidents[0].resolution": "CLEARED"},
        ),
    ],
    "What do I type to repair it?": [
        Call(
            "incidents",
            {"group": "fare-account"},
            {
                "incidents[0].consumer_groups": ["fare-account", "fare-refund-account"],
                "incidents[0].commands[0]": text("mqadmin updateBrokerConfig .* -k brokerPermission -v 6"),
            },
        ),
    ],
    "Would unique client ids have helped?": [
        Call(
            "what_if",
            {"group": "iot_message_consumer", "cases": ["--unique-ids"]},
            # four of eight queues, for fifty of sixty minutes
            {"recorded.unassigned_queues": pytest.approx(3.3, rel=0.05), "cases[0].unassigned_queues": 0.0},
        ),
    ],
    "Which data are missing?": [
        Call(
            "coverage",
            {"group": "iot_message_consumer", "since": "2026-11-21T01:00Z", "until": "2026-11-21T03:00Z"},
            {
                "is_whole": False,
                "not_whole[0].consumer_group": "iot_message_consumer",
                "not_whole[0].seen": "NOT_RECORDED",
                "lacks[0]": text(".*2026-11-21T01:00"),
            },
        ),
    ],
}
CASES = "01 24 83 97 43 100 110 122"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    folder: Path = tmp_path_factory.mktemp("agents")
    recordings = [file for case in CASES.split() for file in RECORDINGS.glob(f"{case}_*.jsonl.gz")]
    audit_into(folder, HOUR, INTERVAL_SECONDS, recordings)
    return Tools(replace(open_warehouse(folder), clock=lambda: HOUR.end))


def test_there_are_twelve_questions() -> None:
    assert len(QUESTIONS) == 12
    assert {call.tool for calls in QUESTIONS.values() for call in calls} <= {*vars(Tools)}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_tools_answer(question: str, tools: Tools) -> None:
    async def ask() -> None:
        async with Client(server_of(tools)) as client:
            for call in QUESTIONS[question]:
                result = await client.call_tool(call.tool, call.arguments)
                for path, expected in call.answers.items():
                    found = value_at(result.structured_content, path)
                    matches = expected.match(found) if isinstance(expected, re.Pattern) else found == expected
                    assert matches, (path, found, expected)

    in_own_loop(ask)


def value_at(document: Any, path: str) -> Any:
    for name, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        document = document[name or int(index)]
    return document
