"""States of one snapshot of a client, by tables, and the spans in which they stay."""

from typing import Any

import numpy as np
import pytest

from schemas import CLIENT_SNAPSHOTS
from spark_jobs.domain.kernel.audited_step import AuditedStep
from spark_jobs.domain.kernel.client_spans import client_reports, client_spans, seen_twice, symptoms
from spark_jobs.domain.model.clients import ClientReport, ThrottleCause, reported_state
from spark_jobs.domain.model.history import ClientHistory, ClientSamples, ClientState, OwnedQueue
from spark_jobs.domain.model.message_queue import MessageQueue
from spark_jobs.domain.model.series import Series, Span
from spark_jobs.domain.model.thresholds import Thresholds
from spark_jobs.domain.model.window import to_micros
from tests.support.client_steps import client_history
from tests.support.kernel import SETTINGS, WINDOW, group_histories
from tests.support.times import DAY, at

#: 1000 messages, 100 MiB, 2000 offsets; a pull 120 s ago.
THRESHOLDS = Thresholds()
SEEN_AT_MS = to_micros(DAY) // 1000

#: `-` is unknown. Age: milliseconds since the last pull; `never` is what a client says with 0.
_QUEUES = """
orderly | model        | locked | dropped | messages | MiB | span | age    | stale | unlocked | throttled by
no      | CLUSTERING   | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
no      | CLUSTERING   | yes    | no      | 1000     | 100 | 999  | 120000 | no    | no       | -
no      | CLUSTERING   | yes    | no      | 1000     | 100 | 1000 | 120000 | no    | no       | CACHED_SPAN
no      | CLUSTERING   | yes    | no      | 1001     | 0   | 0    | 120001 | yes   | no       | CACHED_MESSAGES
no      | CLUSTERING   | yes    | no      | 0        | 101 | 0    | -5000  | no    | no       | CACHED_SIZE
no      | CLUSTERING   | yes    | no      | 0        | 0   | 1001 | 0      | no    | no       | CACHED_SPAN
no      | CLUSTERING   | yes    | no      | 1001     | 101 | 1001 | 0      | no    | no       | CACHED_MESSAGES
no      | CLUSTERING   | yes    | no      | 1000     | 101 | 1001 | 0      | no    | no       | CACHED_SIZE
no      | CLUSTERING   | yes    | no      | -        | -   | 1001 | never  | no    | no       | CACHED_SPAN
no      | CLUSTERING   | yes    | yes     | 1001     | 101 | 1001 | 999999 | no    | no       | -
no      | CLUSTERING   | yes    | -       | 1001     | 0   | 0    | 999999 | yes   | no       | CACHED_MESSAGES
no      | CLUSTERING   | -      | -       | -        | -   | -    | -      | no    | no       | -
-       | -            | no     | no      | 0        | 0   | 1001 | 0      | no    | no       | -
yes     | CLUSTERING   | yes    | no      | 0        | 0   | 1001 | 0      | no    | no       | -
yes     | CLUSTERING   | no     | no      | 0        | 0   | 0    | 0      | no    | yes      | -
yes     | CLUSTERING   | no     | no      | 1001     | 0   | 0    | 130000 | yes   | yes      | CACHED_MESSAGES
yes     | CLUSTERING   | no     | yes     | 0        | 0   | 0    | 0      | no    | no       | -
yes     | CLUSTERING   | -      | no      | 0        | 0   | 0    | 0      | no    | no       | -
yes     | BROADCASTING | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
yes     | -            | no     | no      | 0        | 0   | 0    | 0      | no    | no       | -
"""


def rows(table: str) -> list[dict[str, str | None]]:
    header, *lines = ([cell.strip() for cell in line.split("|")] for line in table.strip().splitlines())
    return [dict(zip(header, (None if cell == "-" else cell for cell in line), strict=True)) for line in lines]


def flag(text: str | None) -> bool | None:
    return None if text is None else text == "yes"


def number(text: str | None) -> int | None:
    return None if text is None else int(text)


def queue(queue_id: int = 0, **said: Any) -> dict[str, Any]:
    """A process queue of which nothing else is said."""
    return {"topic": "t", "broker_name": "b", "queue_id": queue_id} | said


def place(queue_id: int = 0) -> MessageQueue:
    return MessageQueue("t", "b", queue_id)


def said_of(row: dict[str, str | None]) -> dict[str, Any]:
    age, span = row["age"], number(row["span"])
    held = queue(
        locked=flag(row["locked"]),
        dropped=flag(row["dropped"]),
        cached_count=number(row["messages"]),
        cached_mib=number(row["MiB"]),
        cached_min_offset=7,
        cached_max_offset=None if span is None else 7 + span,
        last_pull=None if age is None else 0 if age == "never" else SEEN_AT_MS - int(age),
    )
    return {"consume_orderly": flag(row["orderly"]), "message_model": row["model"]} | {"owned_queues": [held]}


@pytest.mark.parametrize("row", rows(_QUEUES), ids=lambda row: " ".join(str(cell) for cell in row.values()))
def test_what_a_snapshot_shows_of_a_queue(row: dict[str, str | None]) -> None:
    said = client_reports(client_history(said_of(row)), THRESHOLDS, 0).states[-1]
    assert said.stale == ((place(),) if flag(row["stale"]) else ())
    assert said.unlocked == ((place(),) if flag(row["unlocked"]) else ())
    live = () if row["dropped"] == "yes" else (place(),)
    assert said.owned == (None if row["model"] == "BROADCASTING" else live)
    causes = [row["throttled by"]] if row["throttled by"] else []
    assert [(throttled.queue, throttled.cause) for throttled in said.throttled] == [(place(), c) for c in causes]
    for throttled in said.throttled:
        cached = (throttled.cached_count, throttled.cached_mib, throttled.cached_span)
        assert cached == tuple(number(row[name]) for name in ("messages", "MiB", "span"))


@pytest.mark.parametrize(
    ("cached", "consumed_before", "is_stale"),
    [(39, 1, False), (0, 1, True), (39, 0, True), (39, None, True), (None, 1, True)],
)
def test_who_waits_for_a_listener_pulls_again(cached: int | None, consumed_before: int | None, is_stale: bool) -> None:
    """Its last pull was 130 s ago, and it consumed a message so many ms before that."""
    pulled = SEEN_AT_MS - 130_000
    consumed = None if consumed_before is None else pulled - consumed_before
    said = {"owned_queues": [queue(0, cached_count=cached, last_pull=pulled, last_consume=consumed)]}
    report = client_reports(client_history(said), THRESHOLDS, 0).states[-1]
    assert bool(report.stale) is is_stale


def test_a_client_goes_by_its_own_limits() -> None:
    """The configured ones are for those that a client does not report; 0 and less are none."""
    own = {"consume_orderly": False, "pull_threshold_for_queue": 10, "consume_max_span": 100}
    cached = {"cached_count": 10, "cached_mib": 100, "cached_min_offset": 7, "cached_max_offset": 106}
    queues = [queue(0, **cached), queue(1, **cached | {"cached_count": 11}), queue(2, **cached | {"cached_mib": 101})]
    queues.append(queue(3, **cached | {"cached_max_offset": 107}))
    (shown,) = _states(own | {"owned_queues": queues})
    throttled = [(each.queue, each.cause, each.limit, each.reached) for each in shown.throttled]
    assert throttled == [
        (place(1), "CACHED_MESSAGES", 10, 11),
        (place(2), "CACHED_SIZE", 100, 101),
        (place(3), "CACHED_SPAN", 100, 100),
    ]
    (shown,) = _states(own | {"owned_queues": queues, "pull_threshold_for_queue": 0, "consume_max_span": -1})
    assert [each.cause for each in shown.throttled] == ["CACHED_SIZE"]


def _states(*snapshots: dict[str, Any]) -> list[ClientReport]:
    """What successive snapshots show."""
    found = client_reports(client_history(*snapshots), THRESHOLDS, 0)
    return [found.states[code] for code in found.codes]


def test_trouble_is_that_of_its_own_snapshot_and_queue() -> None:
    """Of queues and snapshots beside it, and before one that says nothing, nothing is said."""
    full = {"cached_count": 1001}
    shown = _states(
        {"owned_queues": [queue(0), queue(1)]},
        {"owned_queues": [queue(0), queue(1, **full), queue(2)]},
        {"answered": False},
        {"owned_queues": []},
        {"owned_queues": [queue(0, **full), queue(1, dropped=True, **full), queue(2, **full)]},
    )
    expected = [[], [place(1)], [], [], [place(0), place(2)]]
    assert [[throttled.queue for throttled in state.throttled] for state in shown] == expected
    assert [state.stale for state in shown] == [()] * 5
    assert shown[4].owned == (place(0), place(2))
    assert shown[1].owned == (place(0), place(1), place(2))
    assert shown[2] == ClientReport(False, (), None, ())
    assert shown[3] == ClientReport(True, (), (), ())


def test_a_pull_is_too_old_by_the_clock_of_its_snapshot() -> None:
    """To the millisecond: the microseconds of a snapshot's time do not count."""
    pulled = {"owned_queues": [queue(0, last_pull=SEEN_AT_MS - 100_000), queue(1, last_pull=SEEN_AT_MS - 99_999)]}
    times = (at(20), at(20.000999), at(20.001), at(20.002))
    found = client_reports(client_history(*({"captured_at": moment} | pulled for moment in times)), THRESHOLDS, 0)
    assert [found.states[code].stale for code in found.codes] == [(), (), (place(0),), (place(0), place(1))]


def test_topics_and_queues_are_in_order_and_in_holdings() -> None:
    names = ("u", "t", "u")
    subscribed = [{"topic": name, "expression_type": "TAG", "sub_string": "*", "sub_version": 1} for name in names]
    owned = [queue(1), queue(0), queue(2, dropped=True), queue(0, topic="s")]
    (shown,) = _states({"subscriptions": subscribed, "owned_queues": owned})
    assert shown.topics == ("t", "u")
    assert shown.owned == (MessageQueue("s", "b", 0), place(0), place(1))
    expected = {"s": frozenset({("b", 0)}), "t": frozenset({("b", 0), ("b", 1)}), "u": frozenset()}
    assert shown.holdings == expected
    assert _states({"subscriptions": subscribed})[0].holdings == {}


def test_the_order_in_which_a_client_lists_its_queues_does_not_matter() -> None:
    listed = [OwnedQueue("t", "b", queue_id, None, None) for queue_id in (2, 0, 1)]
    assert reported_state(ClientState(True, owned=tuple(listed))).owned == (place(0), place(1), place(2))


def test_one_trouble_of_clients_that_say_different_things() -> None:
    full = {"owned_queues": [queue(0, cached_count=1001)]}
    subscribed = [{"topic": "u", "expression_type": "TAG", "sub_string": "*", "sub_version": 1}]
    shown = _states(full, full | {"subscriptions": subscribed})
    assert [state.topics for state in shown] == [(), ("u",)]
    assert shown[0].throttled == shown[1].throttled != ()


def test_what_does_not_concern_the_rules_does_not_end_a_span() -> None:
    """Nor does an unknown list of topics where there was an empty one, or a trouble that stays the same."""
    healthy: dict[str, Any] = {"owned_queues": [queue(0, cached_count=1, last_pull=SEEN_AT_MS)], "consume_threads": 20}
    other = {"strategy_class": "S", "consume_threads": 10, "subscriptions": [], "consume_status": []}
    full = {"owned_queues": [queue(0, cached_count=1001)]}
    fuller = {"owned_queues": [queue(0, cached_count=1002)]}
    shown = client_reports(client_history(healthy, healthy | other, full, full, fuller), THRESHOLDS, 0)
    assert shown.codes.tolist() == [0, 0, 1, 1, 2]


def _step(*snapshots: dict[str, Any]) -> AuditedStep:
    key = {"cluster": "c", "consumer_group": "g", "client_id": "c1", "answered": True}
    (found,) = group_histories({CLIENT_SNAPSHOTS: [key | snapshot for snapshot in snapshots]})
    return AuditedStep(found, WINDOW, SETTINGS, (), (), ())


def test_a_span_ends_where_a_client_does_not_answer_or_nobody_asks() -> None:
    """Clipped to the warm-up (from -360 s), of the window's snapshots (from -420 s), each for 60 s at most."""
    seconds = {-421: True, -380: True, -350: True, -330: False, -270: False, -59: True, 3590: True, 3600: True}
    step = _step(*({"captured_at": at(second), "answered": answered} for second, answered in seconds.items()))
    found = [
        (*((moment - to_micros(DAY)) / 1e6 for moment in span[:3]), span.state.answered)
        for span in client_spans(step)["c1"]
    ]
    assert found == [(-360, -330, -350, True), (-330, -210, -270, False), (-59, 1, -59, True), (3590, 3600, 3590, True)]


def test_spans_are_made_once_per_step_and_statements_once_per_thresholds() -> None:
    step = _step({"captured_at": DAY, "owned_queues": [queue(cached_count=11)]})
    assert client_spans(step) is client_spans(step)
    client = step.history.clients["c1"]
    assert client_reports(client, step.settings.thresholds, 0) is client_reports(client, step.settings.thresholds, 0)
    throttled = client_reports(client, Thresholds(cached_messages=10), 0).states[-1].throttled
    assert [queue.cause for queue in throttled] == [ThrottleCause.CACHED_MESSAGES]
    assert client_reports(client, THRESHOLDS, 0).states[-1].is_well


@pytest.mark.parametrize(
    ("spans", "kept"),
    [
        ([], []),
        ([(0, 60, 0)], []),
        ([(0, 60, 20)], [0]),
        ([(0, 20, 0), (20, 80, 20)], [0, 20]),
        ([(0, 20, 0), (21, 81, 21)], []),
        ([(0, 20, 0), (20, 40, 20), (50, 70, 50)], [0, 20]),
        ([(0, 20, 0), (30, 50, 30), (50, 70, 50)], [30, 50]),
        ([(0, 20, -5)], []),
    ],
)
def test_seen_twice(spans: list[tuple[int, int, int]], kept: list[int]) -> None:
    assert [span.start for span in seen_twice([Span(*span, None) for span in spans])] == kept


def test_symptoms_are_per_queue_whatever_else_changes() -> None:
    """Queue 0 twice, with queue 1 and then with 2; queue 3 in two spans that do not touch."""

    def span(start: int, end: int, *stale: int) -> Span[ClientReport]:
        return Span(start, end, start, ClientReport(True, (), (), (), stale=tuple(map(place, stale))))

    spans = [span(0, 20, 0, 1, 3), span(20, 40, 0, 2), span(40, 60, 3)]
    found = symptoms(spans, lambda report: report.stale, lambda queue: queue)
    assert [(span.start, span.end, span.state) for span in found] == [(0, 20, place(0)), (20, 40, place(0))]


def test_a_client_of_whom_nothing_was_recorded_says_nothing() -> None:
    nothing = np.empty(0, np.int64)
    samples = ClientSamples(np.zeros(1, np.int64), nothing, nothing, nothing, nothing, nothing, nothing, nothing, [])
    nobody = ClientHistory(Series(nothing, nothing, []), samples)
    assert client_reports(nobody, THRESHOLDS, 0).spans(SETTINGS.window(0), 1) == []
