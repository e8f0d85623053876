"""Public reports of RocketMQ's users, each a recorded hour: what the person on call must read first, and must not read.

The answers in `field/` are written by hand from the reports; README.md explains their keys. The kernel audits each
case, and the real commands show it. No Spark.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from functools import cache
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.cli.main import main
from spark_jobs.domain.evaluate import EvaluatedStep
from spark_jobs.domain.model.intervals import Interval
from tests.support.look import audit_into
from tests.support.one_backlog import assert_one_backlog
from tests.support.one_cause import STANDING_RULES, assert_one_cause
from tests.support.translated import untranslated
from tests.unit.project.test_layers import ROOT

RECORDINGS = ROOT / "tests" / "data" / "field"
ANSWERS = {file.stem: yaml.safe_load(file.read_text("utf-8")) for file in Path(__file__).parent.glob("field/*.yaml")}
HOUR = Interval.parse("2026-11-21T02:00/2026-11-21T03:00")
INTERVAL_SECONDS = 20
#: In every third case, unless slow tests run: what takes as long as all the rest.
in_every_third_case = pytest.mark.parametrize(
    "number",
    [
        each if place % 3 == 0 else pytest.param(each, marks=pytest.mark.slow)
        for place, each in enumerate(sorted(ANSWERS))
    ],
    scope="module",
)
Case = Mapping[str, Any]
Said = Callable[..., str]


@pytest.fixture(scope="module", params=sorted(ANSWERS))
def number(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, number: str) -> Path:
    """Of one case, and so each of its own."""
    return tmp_path_factory.mktemp("field")


@pytest.fixture(scope="module")
def steps(warehouse: Path, number: str) -> list[EvaluatedStep]:
    """The steps of the case, which are published in its warehouse."""
    return audit_into(warehouse, HOUR, INTERVAL_SECONDS, RECORDINGS.glob(f"{number}_*.jsonl.gz"))


@pytest.fixture(scope="module")
def said(warehouse: Path, steps: list[EvaluatedStep]) -> Said:
    """What a command prints about the case; each is run once."""

    @cache
    def printed(command: str, *options: str) -> str:
        with redirect_stdout(StringIO()) as out:
            main([command, "--warehouse", str(warehouse), *options])
        return out.getvalue()

    return printed


def listed(said: Said) -> list[Case]:
    return list(json.loads(said("incidents", "--json"))["incidents"])


def test_the_first_incident_is_what_the_user_reported(number: str, said: Said) -> None:
    first = ANSWERS[number]["first"]
    incidents = listed(said)
    if first == "none":
        assert {one["severity"] for one in incidents} <= {"INFO"}, incidents
        return
    assert incidents, "no incident"
    assert differences(first, incidents[0], said("incidents", "--id", incidents[0]["incident_id"])) == []


def test_further_incidents_are_as_expected_and_no_absent_rule_fires(number: str, said: Said) -> None:
    incidents = listed(said)
    for expected in ANSWERS[number].get("also", ()):
        candidates = [differences(expected, one, said("incidents", "--id", one["incident_id"])) for one in incidents]
        assert [] in candidates, (expected, candidates)
    assert sorted(hit_rules(incidents) & set(ANSWERS[number]["absent"])) == []


def test_would_more_consumers_have_helped(number: str, said: Said) -> None:
    groups = json.loads(said("status", "--all", "--json"))["groups"]
    answers = {one["consumer_group"]: one for one in groups}
    for group, expected in ANSWERS[number].get("status", {}).items():
        assert answers[group]["bottleneck"] in expected.get("limit", [answers[group]["bottleneck"]])
        assert misworded(expected, answers[group]["advice"]) == []


def test_explain_names_the_cause(number: str, said: Said) -> None:
    for expected in ANSWERS[number].get("explain", ()):
        text = said("explain", "--group", expected["group"], "--at", moment(expected["at"]).isoformat())
        assert misworded(expected, text) == []


def test_a_queue_has_one_cause(number: str, steps: list[EvaluatedStep]) -> None:
    queues, _, _ = assert_one_cause(steps)
    first = ANSWERS[number]["first"]
    assert queues or first == "none" or first.get("rule") not in STANDING_RULES


@in_every_third_case
def test_every_answer_names_one_backlog(said: Said) -> None:
    assert_one_backlog(said, moment("02:30:30").isoformat())


@in_every_third_case
def test_every_sentence_has_a_translation(number: str, said: Said) -> None:
    """Of all incidents, of the answers about more consumers, and of an explanation of the first group."""
    groups = said("status", "--all", "--json", "--language", "zh")
    documents = [groups, said("incidents", "--json", "--language", "zh")]
    first = json.loads(groups)["groups"][0]["consumer_group"]
    at = moment("02:30:30").isoformat()
    explained = said("explain", "--group", first, "--at", at, "--language", "zh")
    lines = [*explained.splitlines(), *chain.from_iterable(map(texts_in, map(json.loads, documents)))]
    assert [line for line in lines if untranslated(line)] == []


def texts_in(value: Any) -> Iterator[str]:
    """Every text of a JSON document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def differences(expected: Case, incident: Case, text: str) -> list[str]:
    """Everything in which an incident is not what was expected."""
    parts = [*incident["root_causes"], *incident["symptoms"]]
    within = expected.get("within", INTERVAL_SECONDS)
    checks: dict[str, Callable[[Any], bool]] = {
        "rule": lambda rule: incident["rule"] == rule,
        "cause": lambda cause: cause in incident["causes"],
        "severity": lambda severity: incident["severity"] == severity,
        "groups": lambda groups: set(incident["consumer_groups"]) == set(groups),
        "queues": lambda queues: {queue_key(one) for one in incident["queues"]} == set(parsed(queues)),
        "members": lambda members: set(members) <= set(incident["client_ids"]),
        "opened": lambda time: is_near(incident["opened_at"], time, within),
        "resolved": lambda time: is_near(incident["resolved_at"], time, within),
        "peak_backlog_messages": lambda number: incident["peak_backlog_messages"] == pytest.approx(number, rel=0.05),
        "with": lambda rules: set(rules) <= {part["rule"] for part in parts},
    }
    assert expected.keys() <= {*checks, "says", "never_says", "within"}
    wrong = [
        f"{key}: {expected[key]}" for key, is_right in checks.items() if key in expected and not is_right(expected[key])
    ]
    wrong += misworded(expected, text)
    return [*wrong, f"in {incident}\n{text}"] if wrong else []


def hit_rules(incidents: Iterable[Case]) -> set[str]:
    """The rules of all parts, and each with its cause."""
    parts = [part for one in incidents for part in (*one["root_causes"], *one["symptoms"])]
    return {part["rule"] for part in parts} | {f"{part['rule']}/{part['cause']}" for part in parts}


def misworded(expected: Case, text: str) -> list[str]:
    """What the text should say and does not, or says and should not; a line's end is a space."""
    flat = re.sub(r"\s+", " ", text)
    missing = [f"does not say {one}" for one in expected.get("says", ()) if not re.search(one, flat, re.IGNORECASE)]
    return missing + [f"says {one}" for one in expected.get("never_says", ()) if re.search(one, flat, re.IGNORECASE)]


def queue_key(queue: Case) -> tuple[str, str, int]:
    return queue["topic"], queue["broker_name"], queue["queue_id"]


def parsed(queues: Mapping[str, str]) -> Iterable[tuple[str, str, int]]:
    """The queues of `{topic: "broker-a:0-3 broker-b:1"}`."""
    for topic, text in queues.items():
        for entry in text.split():
            broker, _, numbers = entry.rpartition(":")
            for run in numbers.split(","):
                first, _, last = run.partition("-")
                yield from ((topic, broker, queue_id) for queue_id in range(int(first), int(last or first) + 1))


def moment(time: str) -> datetime:
    """A time of the hour."""
    hours, minutes, *seconds = map(int, time.split(":"))
    return HOUR.start.replace(hour=hours, minute=minutes, second=sum(seconds))


def is_near(found: str | None, time: str, within: int) -> bool:
    if time == "open" or found is None:
        return found is None and time == "open"
    return abs(datetime.fromisoformat(found) - moment(time)) <= timedelta(seconds=within)


def test_every_answer_is_about_a_recording() -> None:
    assert ANSWERS.keys() <= {file.name.partition("_")[0] for file in RECORDINGS.glob("*.jsonl.gz")}
