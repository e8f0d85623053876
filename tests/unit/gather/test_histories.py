"""Gathered rows as histories, written by hand."""

from typing import Any

import pytest

from schemas import CLIENT_SNAPSHOTS, MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, TOPIC_SNAPSHOTS, Table
from spark_jobs.domain.model.history import (
    UNKNOWN,
    ClientState,
    Connection,
    ConsumeStatus,
    GroupHistory,
    Membership,
    OwnedQueue,
    RequestMode,
)
from spark_jobs.domain.model.message_queue import RouteEntry
from spark_jobs.domain.model.window import SECOND
from spark_jobs.pipeline.gather.histories import histories
from tests.support.gathered import gathered
from tests.support.snapshots import client, membership, offsets, route
from tests.support.times import START, at

Rows = dict[Table, list[dict[str, Any]]]


def history_of(rows: Rows) -> GroupHistory:
    (found,) = histories(*gathered(rows))
    return found


def seconds(times: Any) -> list[int]:
    return [(one - START) // SECOND for one in times.tolist()]


def queues(second: int, *entries: tuple[str, int, int | None, int | None]) -> dict[str, Any]:
    """An offset snapshot with broker, id, end and consumer offset of each queue."""
    names = ("broker_name", "queue_id", "broker_offset", "consumer_offset", "pull_offset", "last_timestamp")
    listed = [dict(zip(names, (*entry, None, 5), strict=True)) for entry in entries]
    return {**offsets(second), "offsets": listed}


def owned(topic: str, queue_id: int, **said: Any) -> dict[str, Any]:
    return {"topic": topic, "broker_name": "b", "queue_id": queue_id, "locked": None, "dropped": None} | said


def routes_of(*routes: dict[str, Any]) -> GroupHistory:
    """The history of a group that has the topic of these routes."""
    return history_of({MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")], ROUTE_SNAPSHOTS: [*routes]})


def test_the_fields_of_a_membership_in_their_normal_form() -> None:
    row = membership(0, topics=["t", "%RETRY%g"])
    row["connections"] = [
        {"client_id": "b", "client_addr": None, "language": "GO", "version": 2},
        {"client_id": "a", "client_addr": "x", "language": None, "version": 1},
        {"client_id": "a", "client_addr": None, "language": "JAVA", "version": None},
        {"client_id": "b", "client_addr": None, "language": "GO", "version": 2},
    ]
    row["subscriptions"] = [
        {"topic": "%RETRY%g", "expression_type": "TAG", "sub_string": "*", "sub_version": 1},
        {"topic": "t", "expression_type": None, "sub_string": "b||a", "sub_version": 2},
    ]
    row["message_model"] = "CLUSTERING"
    row["listed"] = False
    row["request_modes"] = [
        {"topic": "u", "mode": "PULL", "pop_share_queue_num": None},
        {"topic": "t", "mode": "POP", "pop_share_queue_num": 2},
    ]
    (state,) = history_of({MEMBERSHIP_SNAPSHOTS: [row]}).memberships["b"].states
    assert state == Membership(
        (Connection("a", None, "JAVA"), Connection("a", "x", None, 1), *[Connection("b", None, "GO", 2)] * 2),
        frozenset({"t", "%RETRY%g"}),
        frozenset({("t", "a || b")}),
        "CLUSTERING",
        request_modes=(RequestMode("t", "POP", 2), RequestMode("u", "PULL")),
        listed=False,
    )


def test_states_that_are_the_same_in_their_normal_form_are_one() -> None:
    rows = [membership(second, "c1") for second in (40, 0, 20)]
    rows[1]["subscriptions"][0]["sub_string"] = ""
    rows[2]["connections"] = []
    seen = history_of({MEMBERSHIP_SNAPSHOTS: rows}).memberships["b"]
    expected = ([0, 20, 40], [1, 0, 1])
    assert (seconds(seen.times), [len(seen.states[code].connections) for code in seen.codes]) == expected
    assert len(seen.states) == 2


def test_the_times_of_one_folded_state_may_come_in_any_order() -> None:
    states, samples = gathered({MEMBERSHIP_SNAPSHOTS: [membership(0, "c1"), membership(20)]})
    rows = states.to_pylist()
    rows[0]["times"] = [START + second * SECOND for second in (60, 0, 40)]
    (found,) = histories(states.from_pylist(rows, states.schema), samples)
    seen = found.memberships["b"]
    assert (seconds(seen.times), seen.codes.tolist()) == ([0, 20, 40, 60], [0, 1, 0, 0])


def test_who_serves_a_broker_is_the_lowest_id_and_changes_no_route() -> None:
    """The broker gets a slave, loses its master, and then nothing is recorded of it."""
    recorded = [("b", 1, "h:2"), ("b", 0, "h:1")], [("b", 0, "h:1")], [("b", 1, "h:2")], None
    names = ("broker_name", "broker_id", "address")
    given = [None if one is None else [dict(zip(names, each, strict=True)) for each in one] for one in recorded]
    rows = [route(20 * place, 4) | {"addresses": addresses} for place, addresses in enumerate(given)]
    history = routes_of(*rows)
    serving = history.serving["t"]
    found = [serving.states[code] for code in serving.codes.tolist()]
    assert found == [frozenset({("b", "h:1")}), frozenset({("b", "h:1")}), frozenset({("b", "h:2")}), None]
    assert history.routes["t"].codes.tolist() == [0, 0, 0, 0]


def test_what_each_name_server_says_is_known_where_each_was_asked() -> None:
    """The first route does not have it; by the other one, one of two name servers has no route."""
    numbers = ("perm", "read_queue_nums", "write_queue_nums")
    known = {"address": "n1:1", "broker_name": "b", **dict(zip(numbers, (6, 4, 4), strict=True))}
    unknown = {"address": "n2:1", "broker_name": None, **dict.fromkeys(numbers)}
    rows = [route(20 * place, 4) | {"name_servers": said} for place, said in enumerate([None, [unknown, known]])]
    series = routes_of(*rows).server_routes["t"]
    states = [series.states[code] for code in series.codes.tolist()]
    assert states == [(), (("n1:1", (RouteEntry("b", 6, 4, 4),)), ("n2:1", ()))]
    assert not routes_of(rows[0]).server_routes


def test_a_route_has_all_brokers_that_any_name_server_names() -> None:
    """The name server that answered does not know broker a, and says more of b than the other one."""
    numbers = ("perm", "read_queue_nums", "write_queue_nums")
    other = [{"address": "n2:1", "broker_name": name, **dict.fromkeys(numbers, 6)} for name in ("a", "b")]
    (state,) = routes_of(route(0, 4) | {"name_servers": other}).routes["t"].states
    assert state == (RouteEntry("a", 6, 6, 6), RouteEntry("b", 6, 4, 4))


def test_a_route_is_sorted_as_java_sorts_its_brokers() -> None:
    row = route(0, 4)
    row["queues"] = [row["queues"][0] | {"broker_name": name} for name in ("\uffee", "😀", "a")]
    (state,) = routes_of(row).routes["t"].states
    assert state == tuple(RouteEntry(name, 6, 4, 4) for name in ("a", "😀", "\uffee"))


def test_offsets_are_matrices_in_the_order_of_time() -> None:
    rows = [offsets(20, (9, 8, 7), (6, 5, 4)), offsets(0, (3, 2, 1), (0, 0, 0))]
    read = history_of({OFFSET_SNAPSHOTS: rows}).offsets["t"]
    assert (seconds(read.times), list(read.queues)) == ([0, 20], [("b", 0), ("b", 1)])
    assert read.end_offset.tolist() == [[3, 0], [9, 6]]
    assert read.consumer_offset.tolist() == read.pull_offset.tolist() == [[2, 0], [8, 5]]
    assert read.last_timestamp.tolist() == [[1, 0], [7, 4]]
    assert read.present.all()


def test_what_a_sample_does_not_say_is_unknown_and_what_it_does_not_list_is_not_there() -> None:
    rows = [
        queues(0, ("b", 1, 11, None), ("a", 0, 12, 2)),
        queues(20, ("b", 1, 13, 3)),
        queues(40, ("b", 1, 14, 4), ("b", 1, 99, 99), ("a", 0, None, 5)),
        queues(60),
    ]
    read = history_of({OFFSET_SNAPSHOTS: rows}).offsets["t"]
    assert list(read.queues) == [("a", 0), ("b", 1)]
    assert read.end_offset.tolist() == [[12, 11], [UNKNOWN, 13], [UNKNOWN, 14], [UNKNOWN, UNKNOWN]]
    assert read.consumer_offset.tolist() == [[2, UNKNOWN], [UNKNOWN, 3], [5, 4], [UNKNOWN, UNKNOWN]]
    assert read.pull_offset.tolist() == [[UNKNOWN, UNKNOWN]] * 4
    assert read.present.tolist() == [[True, True], [False, True], [True, True], [False, False]]


def test_the_samples_of_topics_and_clients_are_kept_apart_from_those_of_the_group() -> None:
    topic = {"cluster": "c", "topic": "t", "captured_at": at(7)}
    listed = [{"broker_name": "b", "queue_id": 0, "min_offset": None, "max_offset": 4}]
    cached = {"cached_count": 1, "cached_mib": 2, "cached_min_offset": 3, "cached_max_offset": 4, "last_pull": 5}
    cached |= {"last_consume": 6, "last_lock": 7}
    status = {"topic": "t", "consume_rt_ms": 1.5, "consume_ok_tps": None, "consume_failed_tps": 0.0}
    status |= {"pull_rt_ms": 2.0, "pull_tps": 3.0}
    last = client(40, owned_queues=[owned("t", 1), owned("t", 0, locked=True, **cached)], consume_status=[status])
    clients = [last, client(20, answered=False), client(0, owned_queues=[], consume_status=[])]
    topics = [topic | {"queues": listed}]
    rows = {OFFSET_SNAPSHOTS: [offsets(0, (3, 2, 1))], TOPIC_SNAPSHOTS: topics, CLIENT_SNAPSHOTS: clients}
    found = history_of(rows)
    assert found.offsets["t"].end_offset.tolist() == [[3]]
    read = found.topics["t"]
    assert (seconds(read.times), list(read.queues)) == ([7], [("b", 0)])
    assert (read.min_offset.tolist(), read.max_offset.tolist(), read.present.tolist()) == ([[UNKNOWN]], [[4]], [[True]])
    series, measured = found.clients["c1"].series, found.clients["c1"].samples
    states = [series.states[code] for code in series.codes]
    assert seconds(series.times) == [0, 20, 40]
    assert [(one.answered, one.owned) for one in states] == [
        (True, ()),
        (False, None),
        (True, (OwnedQueue("t", "b", 1, None, None), OwnedQueue("t", "b", 0, True, None))),
    ]
    assert measured.offsets.tolist() == [0, 0, 0, 2]
    numbers = (measured.cached_count, measured.cached_mib, measured.cached_min_offset, measured.cached_max_offset)
    times = (measured.last_pull, measured.last_consume, measured.last_lock)
    assert [one.tolist() for one in (*numbers, *times)] == [[UNKNOWN, value] for value in (1, 2, 3, 4, 5, 6, 7)]
    assert measured.statuses == [(), None, (ConsumeStatus("t", 1.5, None, 0.0, 2.0, 3.0),)]


@pytest.mark.parametrize("subscriptions", [None, []])
def test_a_client_that_does_not_say_what_it_subscribes_is_not_one_that_subscribes_nothing(subscriptions: Any) -> None:
    (state,) = history_of({CLIENT_SNAPSHOTS: [client(0, subscriptions=subscriptions)]}).clients["c1"].series.states
    expected: frozenset[str] | None = None if subscriptions is None else frozenset()
    assert (state.topics, state.subscriptions, state.owned) == (expected, expected, None)


def test_no_rows_are_no_histories() -> None:
    assert histories(*gathered({})) == []


def test_a_group_without_any_sample_has_a_history() -> None:
    found = history_of({MEMBERSHIP_SNAPSHOTS: [membership(0, "c1")]})
    assert (set(found.memberships), found.offsets, found.clients) == ({"b"}, {}, {})


def test_a_group_is_handed_the_proxies_of_its_own_cluster() -> None:
    proxy = membership(0, "p1", group="CID_DefaultHeartBeatSyncerTopic", broker="b7", topics=["t"])
    elsewhere = membership(0, "p2", group="CID_DefaultHeartBeatSyncerTopic") | {"cluster": "other"}
    rows: Rows = {MEMBERSHIP_SNAPSHOTS: [membership(0), membership(20), proxy, elsewhere]}
    found = {(one.cluster, one.consumer_group): one for one in histories(*gathered(rows))}
    (state,) = found["c", "g"].proxies["b7"].states
    assert [one.client_id for one in state.connections] == ["p1"]
    assert (set(found["c", "g"].proxies), set(found["c", "g"].memberships)) == ({"b7"}, {"b"})


@pytest.mark.parametrize("name", ["consume_threads", "consume_batch_size", "pull_batch_size", "pull_interval_ms"])
def test_a_setting_of_its_pace_is_another_state_but_no_other_answer(name: str) -> None:
    rows = [client(second, strategy_class="S") | {name: 1 + second // 40} for second in (0, 20, 40)]
    seen = history_of({CLIENT_SNAPSHOTS: rows}).clients["c1"]
    assert seen.series.codes.tolist() == [0, 0, 1]
    assert [getattr(state, name) for state in seen.series.states] == [1, 2]
    assert seen.answers.codes.tolist() == [0, 0, 0]
    assert seen.answers.states == [ClientState(True, "S", client_rebalance=True)]


def test_who_has_no_consumer_of_the_group_says_nothing_of_an_allocation() -> None:
    rows = [client(0, strategy_class="S"), client(20, in_group=False), client(40)]
    seen = history_of({CLIENT_SNAPSHOTS: rows}).clients["c1"]
    assert seen.series.states == [ClientState(True, "S"), ClientState(True, in_group=False), ClientState(True)]
    assert (seen.answers.times - seen.series.times[0]).tolist() == [0, 40 * SECOND]
