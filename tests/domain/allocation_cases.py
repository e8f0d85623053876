"""Allocations worked out by hand, as text: every implementation of the semantics must give exactly this.

`clients` are the members as clients sort them: `c1!` does not subscribe the topic, `c1/AVG` runs another
strategy than the case's, `c1~GO` another implementation of it than Java's of today. A row says
`broker ids | owners | cause`: owners are client ids, one per connection (twins twice), blank = nobody; the cause
of an unowned queue is followed by the client id whose share it lies in, if there is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from spark_jobs.domain.model.message_queue import MessageQueue, RouteEntry
from spark_jobs.domain.rocketmq.strategies import (
    AVG,
    AVG_BY_CIRCLE,
    CONFIG,
    CONSISTENT_HASH,
    MACHINE_ROOM,
    ConfigQueues,
    Strategy,
    Variant,
)
from tests.oracle.ownership import Member


class Expected(NamedTuple):
    """One queue; `cause`: why it is unassigned or double-owned, `share_of`: in whose share it lies then."""

    owners: tuple[str, ...]
    cause: str | None
    share_of: str | None


@dataclass(frozen=True)
class Case:
    """One allocation with its outcome; without a route of its own, every queue of the table is readable."""

    name: str
    strategy: Strategy
    clients: str
    table: str
    topic: str = "T"
    own_route: tuple[RouteEntry, ...] = ()

    @property
    def members(self) -> list[Member]:
        return [self._member(text) for text in self.clients.split()]

    @property
    def client_ids(self) -> list[str]:
        return [member.client_id for member in self.members]

    @property
    def expected(self) -> dict[MessageQueue, Expected]:
        return dict(self._rows())

    @property
    def route(self) -> tuple[RouteEntry, ...]:
        counts = Counter(queue.broker_name for queue in self.expected)
        return self.own_route or tuple(RouteEntry(broker, 6, count, count) for broker, count in counts.items())

    def _member(self, text: str) -> Member:
        text, subscribes = text.rstrip("!"), not text.endswith("!")
        text, _, variant = text.partition("~")
        client_id, _, other = text.partition("/")
        strategy = replace(self.strategy, name=other or self.strategy.name, variant=Variant(variant or "JAVA"))
        return Member(client_id, strategy, subscribes)

    def _rows(self) -> Iterator[tuple[MessageQueue, Expected]]:
        for line in self.table.strip().splitlines():
            queues, owners, causes = (cell.split() for cell in line.split("|"))
            cause, share_of, *_ = (*causes, None, None)
            broker, ids = queues
            for queue_id in _numbers(ids):
                yield MessageQueue(self.topic, broker, queue_id), Expected(tuple(owners), cause, share_of)


def _numbers(text: str) -> Iterator[int]:
    """`0-2,6` is 0, 1, 2, 6."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


_AVG = Strategy(AVG)
_CIRCLE = Strategy(AVG_BY_CIRCLE)
_ROOM1 = Strategy(MACHINE_ROOM, rooms=frozenset({"room1"}))
_NEARBY = Strategy("MACHINE_ROOM_NEARBY-AVG", broker_room="^([^-]+)-", client_room="^([^-]+)-")

AVERAGELY = (
    Case("AVG, 16 queues on two brokers, 2 clients", _AVG, "c1 c2", "a 0-7|c1|\n b 0-7|c2|"),
    Case("AVG, 16 queues, 3 clients", _AVG, "c1 c2 c3", "a 0-5|c1|\n a 6-10|c2|\n a 11-15|c3|"),
    Case("AVG, 1 queue, 2 clients", _AVG, "c1 c2", "a 0|c1|"),
    Case("AVG, 2 queues, 2 clients", _AVG, "c1 c2", "a 0|c1|\n a 1|c2|"),
    Case("AVG, 2 queues, 3 clients: the third gets none", _AVG, "c1 c2 c3", "a 0|c1|\n a 1|c2|"),
    Case(
        "AVG, 12 queues, 5 clients",
        _AVG,
        "c1 c2 c3 c4 c5",
        "a 0-2|c1|\n a 3-5|c2|\n a 6-7|c3|\n a 8-9|c4|\n a 10-11|c5|",
    ),
    Case(
        "AVG, 13 queues, 5 clients",
        _AVG,
        "c1 c2 c3 c4 c5",
        "a 0-2|c1|\n a 3-5|c2|\n a 6-8|c3|\n a 9-10|c4|\n a 11-12|c5|",
    ),
    Case(
        "AVG, ids in the order of UTF-16",
        _AVG,
        "a@1#5 a@10 a@9 a\U0001f600 a\uffff",
        "a 0|a@1#5|\n a 1|a@10|\n a 2|a@9|\n a 3|a\U0001f600|\n a 4|a\uffff|",
    ),
    Case("CIRCLE, 7 queues, 3 clients", _CIRCLE, "c1 c2 c3", "a 0,3,6|c1|\n a 1,4|c2|\n a 2,5|c3|"),
    Case("CIRCLE, 2 queues, 3 clients", _CIRCLE, "c1 c2 c3", "a 0|c1|\n a 1|c2|"),
)

DUPLICATES = (
    Case(
        "AVG, 8 queues, one id twice: the second half is lost",
        _AVG,
        "c1 c1",
        "a 0-3|c1 c1|DUPLICATE_CLIENT_ID\n a 4-7||DUPLICATE_CLIENT_ID c1",
    ),
    Case(
        "AVG, 7 queues, one id twice: the smaller half is lost",
        _AVG,
        "c1 c1",
        "a 0-3|c1 c1|DUPLICATE_CLIENT_ID\n a 4-6||DUPLICATE_CLIENT_ID c1",
    ),
    Case(
        "AVG, the first id twice",
        _AVG,
        "c1 c1 c2",
        "a 0-2|c1 c1|DUPLICATE_CLIENT_ID\n a 3-5||DUPLICATE_CLIENT_ID c1\n a 6-7|c2|",
    ),
    Case(
        "AVG, the last id twice",
        _AVG,
        "c1 c2 c2",
        "a 0-2|c1|\n a 3-5|c2 c2|DUPLICATE_CLIENT_ID\n a 6-7||DUPLICATE_CLIENT_ID c2",
    ),
    Case("AVG, twins beyond the queues lose nothing", _AVG, "c1 c2 c3 c3", "a 0|c1|\n a 1|c2|"),
    Case(
        "AVG, more connections than queues, one id three times",
        _AVG,
        "c1 c1 c1 c2",
        "a 0|c1 c1 c1|DUPLICATE_CLIENT_ID\n a 1-2||DUPLICATE_CLIENT_ID c1",
    ),
    Case(
        "CIRCLE, the first id twice",
        _CIRCLE,
        "c1 c1 c2",
        "a 0,3,6|c1 c1|DUPLICATE_CLIENT_ID\n a 1,4,7||DUPLICATE_CLIENT_ID c1\n a 2,5|c2|",
    ),
    Case(
        "MACHINE_ROOM, the first id twice",
        _ROOM1,
        "c1 c1 c2",
        "room1@a 0,3|c1 c1|DUPLICATE_CLIENT_ID\n room1@a 1,4||DUPLICATE_CLIENT_ID c1\n room1@a 2|c2|",
    ),
    Case(
        "NEARBY, an id twice loses in its own room and in a room without clients",
        _NEARBY,
        "r1-c r1-c r2-c",
        """
        r1-a 0-1 | r1-c r1-c | DUPLICATE_CLIENT_ID
        r1-a 2-3 |           | DUPLICATE_CLIENT_ID r1-c
        r2-a 0-1 | r2-c      |
        r3-a 0-1 | r1-c r1-c | DUPLICATE_CLIENT_ID
        r3-a 2-3 |           | DUPLICATE_CLIENT_ID r1-c
        r3-a 4-5 | r2-c      |
        """,
    ),
    # The owners of the next two are what the Java class returned.
    Case(
        "CONSISTENT_HASH, an id twice: nothing is lost, its share grows",
        Strategy(CONSISTENT_HASH),
        "10.0.0.9@10209#651741181853 10.0.0.9@10209#651741181853 10.0.1.9@16860#962295098194 10.0.2.16@1",
        """
        broker-a 0-1 | 10.0.0.9@10209#651741181853 10.0.0.9@10209#651741181853 | DUPLICATE_CLIENT_ID
        broker-a 2-4 | 10.0.2.16@1                                             |
        broker-a 5   | 10.0.1.9@16860#962295098194                             |
        broker-b 0   | 10.0.0.9@10209#651741181853 10.0.0.9@10209#651741181853 | DUPLICATE_CLIENT_ID
        broker-b 1   | 10.0.1.9@16860#962295098194                             |
        broker-c 0   | 10.0.0.9@10209#651741181853 10.0.0.9@10209#651741181853 | DUPLICATE_CLIENT_ID
        """,
        topic="order_event",
    ),
    Case(
        "CONSISTENT_HASH, an id twice among five connections",
        Strategy(CONSISTENT_HASH),
        "10.0.0.10@17305#322545071718 10.0.0.20@1 10.0.1.14@1 10.0.2.17@1 10.0.2.17@1",
        """
        broker-a 0,2,3,5 | 10.0.2.17@1 10.0.2.17@1      | DUPLICATE_CLIENT_ID
        broker-a 1       | 10.0.1.14@1                  |
        broker-a 4       | 10.0.0.20@1                  |
        broker-a 6       | 10.0.0.10@17305#322545071718 |
        """,
        topic="order_event",
    ),
)

ROOMS = (
    Case("MACHINE_ROOM, 5 queues, 2 clients", _ROOM1, "c1 c2", "room1@a 0,1,4|c1|\n room1@a 2,3|c2|"),
    Case(
        "MACHINE_ROOM, what a broker name must look like",
        _ROOM1,
        "c1 c2",
        """
        @room1    0 |    | ROOM_FILTER
        plain     0 |    | ROOM_FILTER
        room1     0 |    | ROOM_FILTER
        room1@    0 |    | ROOM_FILTER
        room1@a   0 | c1 |
        room1@b@  0 | c2 |
        room1@x@y 0 |    | ROOM_FILTER
        room2@a   0 |    | ROOM_FILTER
        """,
    ),
    Case(
        "MACHINE_ROOM, the room without a name",
        Strategy(MACHINE_ROOM, rooms=frozenset({""})),
        "c1",
        "@room1 0|c1|\n @ 0||ROOM_FILTER",
    ),
    Case(
        "NEARBY, own rooms first, rooms without clients one by one over all",
        _NEARBY,
        "r1-c1 r1-c2 r3-c1",
        """
        r1-a 0-1 | r1-c1 |
        r1-a 2-3 | r1-c2 |
        r2-a 0-1 | r1-c1 |
        r2-a 2-3 | r1-c2 |
        r2-a 4   | r3-c1 |
        r4-a 0   | r1-c1 |
        r5-a 0   | r1-c1 |
        """,
    ),
    Case(
        "NEARBY, two brokers in a room are one list",
        replace(_NEARBY, name="MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"),
        "r1-c1 r1-c2",
        "r1-a 0,2|r1-c1|\n r1-a 1|r1-c2|\n r1-b 0|r1-c2|\n r1-b 1|r1-c1|",
    ),
)

HASHES = (
    Case(
        "CONSISTENT_HASH, 6 queues, 3 clients",
        Strategy(CONSISTENT_HASH, virtual_node_cnt=3),
        "CID-0 CID-1 CID-2",
        "brokerName 2|CID-0|\n brokerName 1,5|CID-1|\n brokerName 0,3,4|CID-2|",
        topic="topic",
    ),
    Case(
        "CONSISTENT_HASH, 10 queues, 4 clients",
        Strategy(CONSISTENT_HASH, virtual_node_cnt=3),
        "CID-0 CID-1 CID-2 CID-3",
        "brokerName 2|CID-0|\n brokerName 0,3,4,8|CID-2|\n brokerName 1,5-7,9|CID-3|",
        topic="topic",
    ),
    Case(
        "CONSISTENT_HASH without virtual nodes",
        Strategy(CONSISTENT_HASH, virtual_node_cnt=0),
        "c1 c2",
        "a 0-1||NO_VIRTUAL_NODES",
    ),
    Case(
        "NEARBY around CONSISTENT_HASH without virtual nodes",
        replace(_NEARBY, name="MACHINE_ROOM_NEARBY-CONSISTENT_HASH", virtual_node_cnt=0),
        "r1-c1",
        "r1-a 0|  |NO_VIRTUAL_NODES",
    ),
)

_LISTS = Strategy(
    CONFIG, config_queues=(ConfigQueues("c1|x.*", "T", "a", (0, 1)), ConfigQueues("c2", "T", "a", (1, 2)))
)

CAUSES = (
    Case(
        "CONFIG, an overlap and a hole",
        _LISTS,
        "c1 c2",
        "a 0|c1|\n a 1|c1 c2|CONFIG_OVERLAP\n a 2|c2|\n a 3||CONFIG_HOLE",
    ),
    Case("CONFIG, the pattern is of the whole id", _LISTS, "ac1 c1z xyz", "a 0-1|xyz|\n a 2-3||CONFIG_HOLE"),
    Case("CONFIG, twins", _LISTS, "c1 c1", "a 0-1|c1 c1|DUPLICATE_CLIENT_ID\n a 2||CONFIG_HOLE"),
    Case("CONFIG, a queue the route does not have", _LISTS, "c1", "a 0|c1|"),
    Case("nobody there", _AVG, "", "a 0-1||GROUP_OFFLINE"),
    Case("a member that does not subscribe", _AVG, "c1 c2!", "a 0-1|c1|\n a 2-3||MEMBER_NOT_SUBSCRIBED c2"),
    Case(
        "twins that do not subscribe",
        _AVG,
        "c1! c1! c2",
        "a 0-1||MEMBER_NOT_SUBSCRIBED c1\n a 2-3||DUPLICATE_CLIENT_ID c1\n a 4-5|c2|",
    ),
    Case(
        "AVG and CIRCLE in one group",
        _AVG,
        "c1 c2/AVG_BY_CIRCLE",
        "a 0|c1|\n a 1|c1 c2|MIXED_STRATEGIES\n a 2||MIXED_STRATEGIES c1\n a 3|c2|",
    ),
    Case(
        # AVG: 0-1 c1, 2-3 c2, 4-5 twin, 6-7 c3.  CIRCLE: 0,4 c1, 1,5 c2, 2,6 twin, 3,7 c3.
        "AVG and CIRCLE with twins: a share under a strategy its member does not run comes first",
        _AVG,
        "c1! c2 c2 c3/AVG_BY_CIRCLE",
        """
        a 0   |          | MEMBER_NOT_SUBSCRIBED c1
        a 1   |          | MIXED_STRATEGIES c2
        a 2   | c2 c2    | DUPLICATE_CLIENT_ID
        a 3   | c2 c2 c3 | MIXED_STRATEGIES
        a 4   |          | DUPLICATE_CLIENT_ID c2
        a 5   |          | MIXED_STRATEGIES c2
        a 6   |          | MIXED_STRATEGIES c3
        a 7   | c3       |
        """,
    ),
    Case(
        "MACHINE_ROOM and CONFIG both leave a queue out: the room filter comes first",
        replace(_LISTS, rooms=frozenset({"room1"})),
        "c1 y/MACHINE_ROOM",
        "a 0-1|c1|\n a 2||ROOM_FILTER",
    ),
    Case(
        "queues nobody may read",
        _AVG,
        "c1",
        "a 0-3|c1|\n a 4-5||BEYOND_READ_QUEUES\n b 0-2||BROKER_NOT_READABLE\n d 0-1|c1|",
        own_route=(
            RouteEntry("d", 4, 2, 1),
            RouteEntry("b", 2, 2, 3),
            RouteEntry("a", 6, 4, 6),
            RouteEntry("e", 6, 0, 0),
        ),
    ),
    Case(
        "nobody there and nothing to read: the route is to blame",
        _AVG,
        "",
        "a 0||GROUP_OFFLINE\n a 1||BEYOND_READ_QUEUES\n b 0||BROKER_NOT_READABLE",
        own_route=(RouteEntry("a", 6, 1, 2), RouteEntry("b", 0, 1, 1)),
    ),
)

#: By the source of the Go client and of Java 4.7.1. One broker a, topic T, 2 nodes for each client.
#: Go: a queue goes to the first node *after* its own hash. All hashes are CRC-32:
#:   nodes   "1c2" 1559183185, "0c2" 1563252070, "0c1" 3290694876, "1c1" 3320213227
#:   queues  4: 2731306223 and 5: 3151453614, next is 0c1 → c1
#:           0: 3332418027, 1: 3753613482, 2: 4103523177, 3: 3985504808, beyond all, so the first, 1c2 → c2
#: Java: the first node *at or after* its own hash. All hashes are the first 4 bytes of MD5:
#:   nodes   "c2-1" 198527331, "c2-0" 830676049, "c1-1" 1895315590, "c1-0" 3886541579
#:   queues  4: 530253833, next is c2-0 → c2; 0: 1400042534, next is c1-1 → c1
#:           1: 3496729975, 2: 3766250058, 5: 3810934570, next is c1-0 → c1; 3: 4232509631, beyond all, so c2-1 → c2
_TWO_NODES = Strategy(CONSISTENT_HASH, virtual_node_cnt=2)
_ROOM2 = Strategy(MACHINE_ROOM, rooms=frozenset({"room2"}))

VARIANTS = (
    Case("CONSISTENT_HASH of Java", _TWO_NODES, "c1 c2", "a 0-2,5|c1|\n a 3-4|c2|"),
    Case("CONSISTENT_HASH of Go", _TWO_NODES, "c1~GO c2~GO", "a 0-3|c2|\n a 4-5|c1|"),
    Case(
        "CONSISTENT_HASH of Go, an id twice: the same nodes again",
        _TWO_NODES,
        "c1~GO c1~GO c2~GO",
        "a 0-3|c2|\n a 4-5|c1 c1|DUPLICATE_CLIENT_ID",
    ),
    Case(
        "CONSISTENT_HASH of Go without nodes", replace(_TWO_NODES, virtual_node_cnt=0), "c~GO", "a 0||NO_VIRTUAL_NODES"
    ),
    Case(
        # 0-2: Java gives c1, Go gives c2, and both take. 3: both give c2, which runs Go's. 4: Java gives c2 and Go c1.
        "CONSISTENT_HASH, c1 Java and c2 Go",
        _TWO_NODES,
        "c1 c2~GO",
        "a 0-2|c1 c2|MIXED_CLIENTS\n a 3|c2|\n a 4||MIXED_CLIENTS c1\n a 5|c1|",
    ),
    Case(
        # 0-2: Java gives c1 and Go c2, neither takes.
        "CONSISTENT_HASH, c1 Go and c2 Java",
        _TWO_NODES,
        "c1~GO c2",
        "a 0-2||MIXED_CLIENTS c1\n a 3|c2|\n a 4|c1 c2|MIXED_CLIENTS\n a 5|c1|",
    ),
    Case(
        "CONSISTENT_HASH, twins of two languages",
        _TWO_NODES,
        "c1 c1~GO",
        "a 0-5|c1 c1|DUPLICATE_CLIENT_ID",
    ),
    Case(
        "one by another strategy, one by another implementation: the strategy comes first",
        _TWO_NODES,
        "c1/AVG c2~GO",  # AVG: 0-2 c1, 3-5 c2
        "a 0-2|c1 c2|MIXED_STRATEGIES\n a 3|c2|\n a 4-5||MIXED_STRATEGIES c1",
    ),
    Case(
        # Of Go's own unit test: 5 queues in rooms, 2 clients: 5 // 2 = 2 each, and 5 % 2 = 1 left over, the fifth.
        "MACHINE_ROOM of Go, rooms at the beginning of the list",
        Strategy(MACHINE_ROOM, rooms=frozenset({"192.168.24.1", "192.168.24.2"})),
        "192.168.24.1@default~GO 192.168.24.2@default~GO",
        """
        192.168.24.1@defaultName 0-1 | 192.168.24.1@default |
        192.168.24.1@defaultName 2   | 192.168.24.2@default |
        192.168.24.2@defaultName 0   | 192.168.24.2@default |
        192.168.24.2@defaultName 1   | 192.168.24.1@default |
        192.168.24.3@defaultName 0   |                      | ROOM_FILTER
        """,
    ),
    *(
        Case(
            # 5 queues in the room: 2 each. c1 takes the first two of *all* queues and c2 the next two; left over is
            # the fifth of the room.
            f"MACHINE_ROOM of {variant}, another room at the beginning of the list",
            _ROOM2,
            f"c1~{variant} c2~{variant}",
            """
            room1@a 0-1 | c1 |
            room1@a 2   | c2 |
            room2@b 0   | c2 |
            room2@b 1-3 |    | MACHINE_ROOM_BUG
            room2@b 4   | c1 |
            room3@c 0   |    | ROOM_FILTER
            """,
        )
        for variant in ("GO", "JAVA_TO_4_7_1")
    ),
    Case(
        # Java of today: room2@b 0-1 c1, 2-3 c2. Up to 4.7.1: room1@a 0-1 c1, room1@a 2 and room2@b 0 c2.
        "MACHINE_ROOM, c1 of today and c2 of 4.7.1",
        _ROOM2,
        "c1 c2~JAVA_TO_4_7_1",
        """
        room1@a 0-1 |       | MIXED_CLIENTS c1
        room1@a 2   | c2    |
        room2@b 0   | c1 c2 | MIXED_CLIENTS
        room2@b 1   | c1    |
        room2@b 2-3 |       | MIXED_CLIENTS c2
        """,
    ),
    Case(
        # Go splits `room2@` and `@` in two parts, `room2@b@` in three. So 3 queues are in rooms, and the first 3 of all
        # are taken. For Java up to 4.7.1, below, room2@b and room2@b@ are: 2, so it takes the first 2.
        "MACHINE_ROOM of Go, what a broker name must look like",
        Strategy(MACHINE_ROOM, rooms=frozenset({"", "room2"})),
        "c1~GO",
        """
        @        0 | c1 |
        plain    0 | c1 |
        room2@   0 | c1 |
        room2@b  0 |    | MACHINE_ROOM_BUG
        room2@b@ 0 |    | ROOM_FILTER
        """,
    ),
    Case(
        "MACHINE_ROOM of Java up to 4.7.1, what a broker name must look like",
        Strategy(MACHINE_ROOM, rooms=frozenset({"", "room2"})),
        "c1~JAVA_TO_4_7_1",
        """
        @        0 | c1 |
        plain    0 | c1 |
        room2@   0 |    | ROOM_FILTER
        room2@b  0 |    | MACHINE_ROOM_BUG
        room2@b@ 0 |    | MACHINE_ROOM_BUG
        """,
    ),
)

CASES: tuple[Case, ...] = (*AVERAGELY, *DUPLICATES, *ROOMS, *HASHES, *CAUSES, *VARIANTS)
