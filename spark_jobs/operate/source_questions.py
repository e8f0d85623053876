"""Questions to source tables that another program wrote, as SQL that DataFusion answers from the needed columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Self

from deltalake import DeltaTable

from schemas import MEMBERSHIP_SNAPSHOTS, OFFSET_SNAPSHOTS, ROUTE_SNAPSHOTS, SOURCES, Table
from schemas.differences import usable_columns
from spark_jobs.domain.kernel.unseen import PROXIES_GROUP
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.message_queue import MessageModel
from spark_jobs.store.read.delta import DeltaTables, sql_literal
from spark_jobs.store.read.stored import rows

_EXAMPLES = 3
#: Fields of arrays without which there is nothing to replay, although Delta cannot require them.
NEEDED_FIELDS = frozenset(
    (
        *("connections[].client_id", "subscriptions[].topic"),
        *("queues[].broker_name", "queues[].perm", "queues[].read_queue_nums"),
        *("offsets[].broker_name", "offsets[].queue_id", "offsets[].broker_offset", "offsets[].consumer_offset"),
    )
)


class Question(NamedTuple):
    """A defect of a table's rows: `wrong` is SQL for them, `needs` its columns, `problem` has {} for `thing`s."""

    table: Table
    needs: Mapping[Table, str]
    wrong: str
    thing: str
    problem: str
    advice: str
    is_critical: bool = False


class Times(NamedTuple):
    """Times of a table's snapshots. `usual_seconds`: median per key; `repeated`: same key and time; `gaps`: long."""

    rows: int
    keys: int
    first: datetime | None
    last: datetime | None
    usual_seconds: float | None
    repeated: int
    repeated_key: str
    gaps: int
    longest_seconds: float
    longest_key: str
    longest_end: datetime | None


@dataclass(frozen=True)
class OwnTables:
    """The source tables that exist: their columns as JSON, and those that are as `schemas` says."""

    location: str
    tables: DeltaTables
    opened: Mapping[Table, DeltaTable]
    stored: Mapping[Table, Any]
    usable: Mapping[Table, frozenset[str]]
    within: str

    @classmethod
    def of(cls, tables: DeltaTables, interval: Interval | None) -> Self:
        """The tables of a warehouse, and their snapshots in the interval; raises `WarehouseError` as `read` does."""
        opened = {table: tables.opened(table) for table in SOURCES if tables.exists(table)}
        stored = {table: tables.columns(delta) for table, delta in opened.items()}
        usable = {table: usable_columns(columns, table.schema) for table, columns in stored.items()}
        within = "captured_at IS NOT NULL"
        if interval is not None:
            start, end = map(sql_literal, (interval.start, interval.end))
            within = f"captured_at >= {start} AND captured_at < {end}"
        return cls(tables.location.location, tables, opened, stored, usable, within)

    def times(self, table: Table, max_gap: timedelta) -> Times | None:
        """The times of a table; None if it is missing, or columns of its key cannot be read."""
        if not set(table.key) <= self.usable.get(table, frozenset()):
            return None
        key = ", ".join(table.key[:-1])
        name = "concat_ws(' ', " + ", ".join(f"'{column}=' || {column}" for column in table.key[:-1]) + ")"
        at = "extract(epoch FROM captured_at)"
        (row,) = self._rows(
            (table,),
            f"""apart AS (SELECT {key}, captured_at,
                {at} - lag({at}) OVER (PARTITION BY {key} ORDER BY captured_at) AS seconds FROM {table.name})
            SELECT count(*) AS rows, count(*) FILTER (WHERE seconds IS NULL) AS keys,
                min(captured_at) AS first, max(captured_at) AS last,
                approx_median(seconds) FILTER (WHERE seconds > 0) AS usual_seconds,
                count(*) FILTER (WHERE seconds = 0) AS repeated,
                coalesce(first_value({name} ORDER BY seconds NULLS LAST), '') AS repeated_key,
                count(*) FILTER (WHERE seconds > {max_gap.total_seconds()}) AS gaps,
                coalesce(max(seconds), 0) AS longest_seconds,
                coalesce(first_value({name} ORDER BY seconds DESC NULLS LAST), '') AS longest_key,
                first_value(captured_at ORDER BY seconds DESC NULLS LAST) AS longest_end
            FROM apart""",
        )
        return Times(**row)

    def answer(self, question: Question) -> tuple[int, Sequence[str]]:
        """The number of wrong rows, and some of them; 0 if a needed table or column is missing, a problem itself."""
        if any(
            not set(needed.split()) <= self.usable.get(table, frozenset()) for table, needed in question.needs.items()
        ):
            return 0, ()
        wrong_rows = self._rows(
            question.needs,
            f"wrong AS ({question.wrong}) SELECT *, count(*) OVER () AS wrong_rows FROM wrong ORDER BY 1, 2 "
            f"LIMIT {_EXAMPLES}",
        )
        examples = [_shown(row) for row in wrong_rows]
        return wrong_rows[0]["wrong_rows"] if wrong_rows else 0, [*dict.fromkeys(examples)]

    def _rows(self, tables: Sequence[Table] | Mapping[Table, str], sql: str) -> list[dict[str, Any]]:
        snapshots = ", ".join(f"{table.name} AS (SELECT * FROM {table.name} WHERE {self.within})" for table in tables)
        return rows(self.tables.query(f"WITH {snapshots}, {sql}", {table: self.opened[table] for table in tables}))


def _shown(row: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in row.items() if value is not None and name != "wrong_rows")


def _without_key(table: Table) -> Question:
    wrong = " OR ".join(f"{name} IS NULL" for name in table.key[:-1])
    return Question(
        table,
        {table: " ".join(table.key)},
        f"SELECT {', '.join(table.key)} FROM {table.name} WHERE {wrong}",
        "row",
        f"{{}} without {' or '.join(table.key[:-1])}",
        "write all columns of the key in every row; an audit rejects these",
        is_critical=True,
    )


#: In the order in which they are shown.
QUESTIONS: tuple[Question, ...] = (
    *map(_without_key, SOURCES),
    Question(
        MEMBERSHIP_SNAPSHOTS,
        {MEMBERSHIP_SNAPSHOTS: "cluster consumer_group broker_name captured_at connections[].client_id"},
        """SELECT cluster, consumer_group, broker_name FROM (
            SELECT cluster, consumer_group, broker_name, unnest(connections) AS connection FROM membership_snapshots)
        WHERE coalesce(connection['client_id'], '') = ''""",
        "connection",
        "{} without client id",
        "write the client id that the client reports to the broker; an audit rejects these snapshots",
        is_critical=True,
    ),
    Question(
        MEMBERSHIP_SNAPSHOTS,
        {
            MEMBERSHIP_SNAPSHOTS: "cluster captured_at connections[].client_id subscriptions[].topic",
            ROUTE_SNAPSHOTS: "cluster topic captured_at",
        },
        # Brokers create retry topics when a message comes back: most have no route.
        """SELECT cluster, subscription['topic'] AS topic FROM (
            SELECT cluster, unnest(subscriptions) AS subscription FROM membership_snapshots
            WHERE cardinality(connections) > 0)
        WHERE NOT starts_with(subscription['topic'], '%RETRY%')
        EXCEPT SELECT cluster, topic FROM route_snapshots""",
        "topic",
        "{} with subscribers and without a route",
        "record the route of every topic that groups subscribe to: who owns its queues is unknown",
    ),
    Question(
        MEMBERSHIP_SNAPSHOTS,
        {
            MEMBERSHIP_SNAPSHOTS: "cluster consumer_group captured_at message_model connections[].client_id",
            OFFSET_SNAPSHOTS: "cluster consumer_group captured_at",
        },
        f"""SELECT cluster, consumer_group FROM membership_snapshots
        WHERE cardinality(connections) > 0 AND coalesce(message_model, '') <> '{MessageModel.BROADCASTING}'
            AND consumer_group <> '{PROXIES_GROUP}'
        EXCEPT SELECT cluster, consumer_group FROM offset_snapshots""",
        "group",
        "{} with members and without offsets",
        "record the offsets of every group: backlog and progress are unknown",
    ),
    Question(
        ROUTE_SNAPSHOTS,
        {
            ROUTE_SNAPSHOTS: "cluster captured_at queues[].broker_name",
            MEMBERSHIP_SNAPSHOTS: "cluster broker_name captured_at",
        },
        """SELECT cluster, queues['broker_name'] AS broker_name FROM (
            SELECT cluster, unnest(queues) AS queues FROM route_snapshots)
        WHERE queues['broker_name'] IS NOT NULL
        EXCEPT SELECT cluster, broker_name FROM membership_snapshots""",
        "broker",
        "{} in routes that no membership snapshot names",
        "ask every broker of a topic for the members of its groups: these brokers' lists are unknown",
    ),
)
