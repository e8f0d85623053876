from spark_jobs.domain.model.causes import UnassignedCause
from spark_jobs.domain.model.message_queue import (
    MessageQueue,
    RouteEntry,
    all_queues,
    java_order,
    sort_client_ids,
    sort_queues,
)


def test_client_ids_sort_by_utf16_code_units() -> None:
    # U+1F600 is D83D DE00 in UTF-16: below U+E000 and U+FFFF, although its code point is above.
    expected = [*("Z", "a@1#5", "a@10", "a@9", "a@9"), *("\U0001f600", "\ue000", "\uffff")]
    assert sort_client_ids(["a@9", "\uffff", "\U0001f600", "\ue000", "a@10", "a@1#5", "a@9", "Z"]) == expected


def test_a_lone_surrogate_can_be_sorted() -> None:
    assert java_order("\ud83d") == b"\xd8\x3d"


def test_queues_sort_by_topic_broker_and_number() -> None:
    shuffled = [
        MessageQueue("T", "b", 0),
        MessageQueue("T", "a", 10),
        MessageQueue("S", "z", 3),
        MessageQueue("T", "a", 9),
        MessageQueue("T", "B", 1),
    ]
    assert sort_queues(shuffled) == [
        MessageQueue("S", "z", 3),
        MessageQueue("T", "B", 1),
        MessageQueue("T", "a", 9),
        MessageQueue("T", "a", 10),
        MessageQueue("T", "b", 0),
    ]


def test_a_queue_prints_as_java_prints_it() -> None:
    queue = MessageQueue("%RETRY%G", "broker-a", 7)
    assert str(queue) == "MessageQueue [topic=%RETRY%G, brokerName=broker-a, queueId=7]"


def test_write_queues_are_listed_but_not_readable() -> None:
    route = [RouteEntry("b", 6, 1, 2), RouteEntry("a", 2, 1, 1), RouteEntry("c", 4, 2, 0)]
    assert [(q.broker_name, q.queue_id, why) for q, why in all_queues("T", route)] == [
        ("a", 0, UnassignedCause.BROKER_NOT_READABLE),
        ("b", 0, None),
        ("b", 1, UnassignedCause.BEYOND_READ_QUEUES),
        ("c", 0, None),
        ("c", 1, None),
    ]


def test_no_read_permission_outweighs_the_queue_number() -> None:
    assert all_queues("T", [RouteEntry("a", 0, 0, 1)])[0].unreadable is UnassignedCause.BROKER_NOT_READABLE
