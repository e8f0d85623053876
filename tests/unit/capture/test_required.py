"""Whatever one kind of request does at a broker, the answers of all the others arrive, and in time."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from spark_jobs.capture.calls import Call, CallError, Request
from spark_jobs.capture.capture import Capture, Settings
from tests.support.fakes import (
    REFUSED,
    TIMED_OUT,
    Answers,
    FakeAdmin,
    broker_answers,
    brokers,
    connections,
    offset_table,
    queue,
    recorded,
    route,
)

GROUPS = ("dup", "kill", "norm")
#: A round is lost where the machine itself stands for longer than the cadence (s).
CADENCE, ROUNDS = 1.5, 3
#: How long a time-out takes here, and an answer that is late (s).
LATE = 0.15
FAULTS = ("never answers", "is late", "closes")
OPTIONAL = [request for request in Request if not request.is_required]
#: The lines that stand for a required request, by kind.
LINES = {Request.CONNECTION: "connection", Request.STATS: "stats", Request.ROUTE: "route"}


def faulty(request: Request, fault: str) -> FakeAdmin:
    """Does with one kind of request what the fault says; the answers of the others come at once."""
    admin = FakeAdmin(answers())

    def fail(call: Call) -> None:
        # The first answers say which brokers and groups there are.
        is_first = request in (Request.BROKERS, Request.GROUPS) and admin.counts()[request.value] == 1
        if call.request is request and not is_first:
            time.sleep(0 if fault == "closes" else LATE)
            if fault != "is late":
                raise CallError(REFUSED if fault == "closes" else TIMED_OUT)

    admin.before_answer = fail
    return admin


def answers() -> Answers:
    """A broker of 5.4.0 with three groups, each of a topic of its own."""
    told = broker_answers(
        "broker-a",
        *GROUPS,
        topic_config='{"topicName":"t"}',
        running='{"mqTable":{}}',
        topicstats=offset_table(queue("broker-a", "t", maxOffset=9, minOffset=0)),
        stats=offset_table(),
    )
    told["brokers", "name server"] = brokers(**{"broker-a": "10.0.0.1:10911"})
    told["route", "name server"] = route("broker-a")
    for group in GROUPS:
        told["connection", "broker-a", group] = connections(f"t-{group}", f"{group}-1", f"{group}-2")
        told["stats", "broker-a", group] = offset_table(queue("broker-a", f"t-{group}"))
    return told


def lines_of(request: Request, fault: str, folder: Path) -> tuple[Counter[str], list[str]]:
    """Lines with a body by kind and group, or topic, and the lines about the rounds."""
    said: list[str] = []
    settings = Settings("10.0.0.9:9876", folder, CADENCE, rate=5000, duration=CADENCE * (ROUNDS - 0.5))
    Capture(settings, faulty(request, fault), lambda _: None).run(said.append, lambda _: None)
    lines = [line for line in recorded(folder) if "body" in line and line["kind"] in LINES.values()]
    return Counter(f"{line['kind']} {line.get('group', line.get('topic'))}" for line in lines), said


Captured = dict[tuple[Request, str], tuple[Counter[str], list[str]]]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Captured:
    """Every fault of every kind of request: all captures at once, as each mostly waits for its next round."""
    cases = [*product(Request, FAULTS)]
    folders = [tmp_path_factory.mktemp("capture") for _ in cases]
    with ThreadPoolExecutor(len(cases)) as threads:
        return dict(zip(cases, threads.map(lines_of, *zip(*cases, strict=True), folders), strict=True))


def whole(*but: Request) -> dict[str, int]:
    """What every group has that is asked for in every round, but for these requests."""
    kinds = [kind for request, kind in LINES.items() if request not in but]
    names = [f"{kind} {'t-' if kind == 'route' else ''}{group}" for kind in kinds for group in GROUPS]
    return dict.fromkeys(names, ROUNDS)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("request_", OPTIONAL)
def test_no_optional_request_costs_the_answers_that_matter(request_: Request, fault: str, captured: Captured) -> None:
    lines, said = captured[request_, fault]
    assert {name: lines[name] for name in whole()} == whole()
    assert len(said) == ROUNDS
    assert not [line for line in said if "MISSED" in line]


@pytest.mark.parametrize("fault", ["never answers", "closes"])
@pytest.mark.parametrize("request_", [request for request in Request if request.is_required])
def test_a_required_request_costs_no_other_answers(request_: Request, fault: str, captured: Captured) -> None:
    lines, said = captured[request_, fault]
    assert {name: lines[name] for name in whole(request_)} == whole(request_)
    if request_ in (Request.CONNECTION, Request.STATS):
        error = REFUSED if fault == "closes" else TIMED_OUT
        what = "members" if request_ is Request.CONNECTION else "offsets"
        assert f"; MISSED dup: {what} (broker-a: {error}), kill: {what} (" in said[-1]


@pytest.mark.parametrize("request_", [request for request in Request if request.is_required])
def test_a_required_answer_that_is_late_is_recorded(request_: Request, captured: Captured) -> None:
    lines, _ = captured[request_, "is late"]
    assert {name: lines[name] for name in whole()} == whole()
