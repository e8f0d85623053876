"""What a made fleet is like at any moment, as Columns: the same seed gives the same fleet, without a Python loop."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.domain.model.intervals import Interval

START = datetime(2026, 3, 1, tzinfo=UTC)
START_MS = int(START.timestamp() * 1000)
HOUR_MS = 3_600_000
#: A flapping member is away for this long, then back for as long: 1,000 times an hour.
FLAP_MS = 1_800
#: Messages a second in a queue: at least this many, and less than twice as many.
_RATE = 10


@dataclass(frozen=True)
class Fleet:
    """Every group consumes one topic of its own (`queues` on `hosts` of the `brokers`) and its retry topic.

    `churn` is the share of groups that in any one hour lose a member and get it back; `duplicates` is the share of
    groups in which two connections have one client id (they do not churn); the first `flapping` groups have a
    member that comes and goes 1,000 times an hour, which a cadence of `FLAP_MS` shows in full. With `rooms` the
    brokers are named room<n>@broker-…, in turns. Clients say that they run AVG, or (`says_strategy`) do not say;
    with `lists_queues` they list the queues of the topic that they hold.
    `sighted_hours`: for how many hours before the history its sightings go back. `files_an_hour`: of each table.
    """

    groups: int = 500
    fewest_members: int = 6
    most_members: int = 9
    queues: int = 16
    brokers: int = 4
    hosts: int = 1
    cadence_ms: int = 20_000
    topic_cadence_ms: int = 60_000
    client_cadence_ms: int = 600_000
    hours: int = 24
    churn: float = 0.05
    duplicates: float = 0.05
    flapping: int = 0
    rooms: int = 0
    says_strategy: bool = True
    lists_queues: bool = False
    sighted_hours: int = 0
    files_an_hour: int = 1
    seed: int = 1

    @property
    def interval(self) -> Interval:
        """The whole history."""
        return Interval(START, START + timedelta(hours=self.hours))

    @property
    def queues_per_host(self) -> int:
        """Of a topic; `queues` is a multiple of `hosts`."""
        return self.queues // self.hosts

    def chance(self, what: str, *of: Column) -> Column:
        """A number in [0, 1) that depends on nothing but the seed, and on what is asked about whom."""
        return F.pmod(F.xxhash64(F.lit(self.seed), F.lit(what), *of), F.lit(1_000_000)) / 1_000_000


def moments(spark: SparkSession, fleet: Fleet, what: str, keys: int, cadence_ms: int) -> DataFrame:
    """One row per (time, key from 0), in order of time, a file's per partition: `key`, `elapsed` ms, `captured_at`.

    A recorder asks one after another: every key has its own delay within the cadence, which `elapsed` leaves out.
    """
    snapshots = fleet.hours * HOUR_MS // cadence_ms
    delay = F.floor(cadence_ms * fleet.chance(f"{what} delay", F.col("key")))
    return (
        spark.range(0, snapshots * keys, 1, fleet.hours * fleet.files_an_hour)
        .select((F.col("id") % keys).alias("key"), (F.expr(f"id div {keys}") * cadence_ms).alias("elapsed"))
        .withColumn("captured_at", F.timestamp_millis(F.lit(START_MS) + F.col("elapsed") + delay))
    )


def with_group(moments: DataFrame, fleet: Fleet) -> DataFrame:
    """Adds the group that a key belongs to: `group`, names, whether it has `twins`, and how many are `present`."""
    group = F.col("group")
    twins = F.floor((group + 1) * fleet.duplicates) > F.floor(group * fleet.duplicates)
    sizes = fleet.most_members - fleet.fewest_members + 1
    size = fleet.fewest_members + F.floor(sizes * fleet.chance("size", group))
    away = (_churns(fleet) & ~F.col("twins")) | _flaps(fleet)
    return (
        moments.withColumn("group", F.col("key") % fleet.groups)
        .withColumn("twins", twins)
        .withColumn("present", (size - away.cast("int")).cast("int"))
        .withColumn("cluster", F.lit("fleet"))
        .withColumn("consumer_group", F.format_string("group-%04d", group))
        .withColumn("topic", F.format_string("topic-%04d", group))
    )


def _churns(fleet: Fleet) -> Column:
    """Whether the last member is away: once in the hour, from its first half to its second."""
    of = (F.col("group"), F.expr(f"elapsed div {HOUR_MS}"))
    moment = F.col("elapsed") % HOUR_MS / (HOUR_MS / 2)
    left_at, came_back = fleet.chance("leaves", *of), 1 + fleet.chance("comes back", *of)
    return (fleet.chance("churns", *of) < fleet.churn) & (moment >= left_at) & (moment < came_back)


def _flaps(fleet: Fleet) -> Column:
    return (F.col("group") < fleet.flapping) & (F.expr(f"elapsed div {FLAP_MS}") % 2 == 1)


def retry_topic() -> Column:
    """Name of the group's retry topic."""
    return F.concat(F.lit("%RETRY%"), "consumer_group")


def subscriptions() -> Column:
    """The group's topic and its retry topic."""

    def of(topic: Column) -> Column:
        return F.struct(topic.alias("topic"), F.lit("TAG"), F.lit("*"), F.lit(START_MS))

    return F.array(of(F.col("topic")), of(retry_topic()))


def host(fleet: Fleet, number: Column) -> Column:
    """Name of one of the hosts of the group's topics, numbered from 0; in order of their names if without rooms."""
    broker = F.col("group") % (fleet.brokers // fleet.hosts) * fleet.hosts + number
    if fleet.rooms:
        return F.format_string("room%d@broker-%02d", broker % fleet.rooms, broker)
    return F.format_string("broker-%02d", broker)


def client_id(member: Column) -> Column:
    """Client id of a member, numbered from 0; the second of two twins has the first one's."""
    own = F.when(F.col("twins") & (member == 1), 0).otherwise(member)
    return F.format_string("%s@7#%d", _ip(own), START_MS + own)


def _ip(member: Column) -> Column:
    """Of the first hundred members of a group: in order of their numbers."""
    return F.format_string("10.%d.%d.%d", F.floor(member / 100) + 31, F.col("group") % 200, member % 100 + 100)


def connection(member: Column) -> Column:
    """A connection as its broker knows it: twins differ in their port."""
    address = F.format_string("%s:%d", _ip(member), member + 40_000)
    return F.struct(client_id(member), address, F.lit("JAVA"), F.lit(493))


def per_queue(fleet: Fleet, entry: Callable[[Column, Column, Column, Column], Column]) -> Column:
    """One `entry(broker_name, queue_id, end_offset, index)` per queue of the group's topic.

    Production is even, with a noise of up to half a second of it.
    """

    def of(index: Column) -> Column:
        broker = host(fleet, F.floor(index / fleet.queues_per_host))
        rate = _RATE * (1 + fleet.chance("rate", F.col("group"), index))
        noise = 500 * fleet.chance("noise", F.col("group"), index, F.col("elapsed"))
        end = F.floor(rate * (F.col("elapsed") + noise) / 1000)
        return entry(broker, index % fleet.queues_per_host, end, index)

    return F.transform(F.sequence(F.lit(0), F.lit(fleet.queues - 1)), of)


def is_unassigned(fleet: Fleet, index: Column) -> Column:
    """Whether a queue lies in the share of a second twin under AVG, which nobody computes."""
    return F.col("twins") & is_in_share(fleet, F.lit(1), index)


def is_in_share(fleet: Fleet, member: Column, index: Column) -> Column:
    """Whether AVG gives a queue to a member (`AllocateMessageQueueAveragely`); no more members than queues."""
    size, remainder = F.floor(F.lit(fleet.queues) / F.col("present")), F.lit(fleet.queues) % F.col("present")
    start = member * size + F.least(member, remainder)
    return (index >= start) & (index < start + size + (member < remainder).cast("int"))
