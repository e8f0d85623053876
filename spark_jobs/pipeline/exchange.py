"""Columns, with their types and meaning, that Spark hands to the Arrow function over groups, and gets back.

`STATES` and `SAMPLES` go there, `RESULTS` come back. Whoever gathers makes them from a `Kind`'s description of its
source, and `source_columns` is the way back.
"""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from schemas import (
    CLIENT_SNAPSHOTS,
    MEMBERSHIP_SNAPSHOTS,
    OFFSET_SNAPSHOTS,
    OUTPUTS,
    QUARANTINE,
    ROUTE_SNAPSHOTS,
    SIGHTINGS,
    TOPIC_SNAPSHOTS,
    Table,
)
from schemas.common import OF_GROUP
from schemas.types import BOOLEAN, LONG, STRING, Array, Field, Map, Struct, array_of, fields
from spark_jobs.store.arrow import arrow_fields, elements_of

#: What tells snapshots of one kind apart, beside their time: whose they are.
KEY = ("cluster", "consumer_group", "name")


def _columns(table: Table, *names: str) -> list[Field]:
    """Columns of a table, which may be null here; what they mean stands in `schemas`."""
    return [Field(name, table.schema[name].type) for name in names]


@dataclass(frozen=True, eq=False)
class Kind:
    """How the snapshots of one source travel. The state of a snapshot is what many of one key share; its sample has
    the numbers that every snapshot has of its own.

    `name`: that of the kind, and of its columns in `STATES` and `SAMPLES`; `named_by`: the source's column that is
    `KEY`'s `name`. Of the elements of `array`, the fields `listed` are in the state and `numbers` in the sample. Of the
    columns `measured`, which are in the sample, the state has whether they are known.
    """

    name: str
    table: Table
    named_by: str
    array: str | None = None
    listed: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()

    @property
    def is_measured(self) -> bool:
        """Return whether its snapshots have samples; if not, its states have the times of the snapshots."""
        return self.array is not None

    @property
    def of_topics(self) -> bool:
        """Return whether its snapshots are those of a topic, and no group's own."""
        return "consumer_group" not in self.table.key

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """The source's columns that are in the state as they are."""
        elsewhere = (*self.table.key, self.array, *self.measured)
        return tuple(name for name in self.table.columns if name not in elsewhere)

    @cached_property
    def state(self) -> Struct:
        """The fields of a state."""
        fields = _columns(self.table, *self.shared)
        if self.array is not None:
            lists = (Field(name, Array(self._element[name].type)) for name in self.listed)
            fields.append(Field(self.array, Struct(*lists), "the array's elements, field by field"))
        known = (Field(name, BOOLEAN, "true: the sample has it; null: it is unknown") for name in self.measured)
        return Struct(*fields, *known)

    @cached_property
    def sample(self) -> Struct:
        """The fields of a sample."""
        numbers = (Field(name, Array(LONG), "a number per element of the state's array") for name in self.numbers)
        return Struct(*numbers, *_columns(self.table, *self.measured))

    @property
    def _element(self) -> Struct:
        array = self.table.schema[str(self.array)].type
        assert isinstance(array, Array)
        assert isinstance(array.element, Struct)
        return array.element


MEMBERSHIP = Kind("membership", MEMBERSHIP_SNAPSHOTS, "broker_name")
ROUTE = Kind("route", ROUTE_SNAPSHOTS, "topic")
TOPIC = Kind("topic", TOPIC_SNAPSHOTS, "topic", "queues", ("broker_name", "queue_id"), ("min_offset", "max_offset"))
OFFSETS = Kind(
    "offsets",
    OFFSET_SNAPSHOTS,
    "topic",
    array="offsets",
    listed=("broker_name", "queue_id"),
    numbers=("broker_offset", "consumer_offset", "pull_offset", "last_timestamp"),
)
CLIENT = Kind(
    "client",
    CLIENT_SNAPSHOTS,
    "client_id",
    array="owned_queues",
    listed=("topic", "broker_name", "queue_id", "locked", "dropped"),
    numbers=(
        *("cached_count", "cached_mib", "cached_min_offset", "cached_max_offset", "commit_offset"),
        *("last_pull", "last_consume", "last_lock"),
    ),
    measured=("started_at", "consume_status"),
)
#: In the order of `schemas.SOURCES`.
KINDS = (MEMBERSHIP, ROUTE, TOPIC, OFFSETS, CLIENT)
MEASURED = tuple(kind for kind in KINDS if kind.is_measured)
#: Kinds without a source of snapshots: when a group was captured, and was deleted; when a topic's route named queues as
#: readable, or none; when a broker did not answer.
CAPTURED, DELETED, READABLE, UNANSWERED = "captured", "deleted", "readable", "unanswered"

STATES = Struct(
    Field("cluster", STRING, "the fleet"),
    Field("consumer_group", STRING, "the group whose state it is; null: it is a topic's"),
    Field("kind", STRING, "the name of its `Kind`, or of one without a source"),
    Field("name", STRING, "the broker, topic or client whose state it is; of captured and deleted: the group"),
    Field("counted", BOOLEAN, "false: a copy for groups that need it, whose snapshots are counted in another part"),
    Field("fingerprint", LONG, "which samples are of this state, among those of its kind; null: it has none"),
    Field(
        "times", Array(LONG), "microseconds since 1970 of its snapshots, in any order; empty where samples have them"
    ),
    *(Field(kind.name, kind.state, f"what {kind.table.name} shows; of its kind only") for kind in KINDS),
    Field(
        READABLE,
        Struct(*_columns(SIGHTINGS, "broker_name", "read_queue_nums")),
        "of a readable state the broker, and how many queues of it; no broker: the topic had no route",
    ),
    Field(UNANSWERED, STRING, "why a broker did not answer, of an unanswered state"),
)
SAMPLES = Struct(
    Field("fingerprint", LONG, "that of its state"),
    Field("at", LONG, "time of the snapshot, microseconds since 1970"),
    *(Field(kind.name, kind.sample, f"what {kind.table.name} measures; of its kind only") for kind in MEASURED),
)

#: What all rows of a step of a group share.
STEP_KEY = OF_GROUP.names


def own_columns(table: Table) -> tuple[str, ...]:
    """The columns of an output table that are not of `STEP_KEY`."""
    return tuple(name for name in table.columns if name not in STEP_KEY)


#: One row per row of an output table, per `Fact`, per snapshot that was not used, and per part of the groups: each in
#: the column of its kind, with null in the others.
RESULTS = Struct(
    *_columns(OUTPUTS[0], *STEP_KEY),
    *(Field(table.name, Struct(*_columns(table, *own_columns(table))), "a row to publish") for table in OUTPUTS),
    Field(
        "fact",
        Struct(
            Field("table_name", STRING),
            Field("step_start", LONG),
            Field("cluster", STRING),
            Field("counts", Map(LONG)),
            Field("examples", array_of(Field("name", STRING), Field("key", STRING))),
        ),
        "what was counted of a table in a step of a cluster: `quality.facts.Fact`",
    ),
    Field(
        QUARANTINE.name,
        Struct(*_columns(QUARANTINE, *QUARANTINE.columns)),
        "a snapshot that was not used, with its reasons; its run is null",
    ),
    Field(
        "seen",
        Struct(
            Field("observed", BOOLEAN, "whether any group was observed"),
            Field("assumed", LONG, "for how many groups a strategy was assumed"),
            Field(
                "skipped",
                array_of(*fields(STRING, "cluster", "consumer_group", "reason"), Field("topics", Array(STRING))),
                "groups and topics that were not replayed",
            ),
        ),
        "what a part of the groups was like",
    ),
)
STATES_ARROW, SAMPLES_ARROW, RESULTS_ARROW = map(arrow_fields, (STATES, SAMPLES, RESULTS))
NO_STATES: pa.Table = STATES_ARROW.empty_table()
#: Each output table on its own, with all its columns in its order.
TABLES_ARROW: dict[str, pa.Schema] = {table.name: arrow_fields(_columns(table, *table.columns)) for table in OUTPUTS}


def source_columns(
    kind: Kind, states: pa.StructArray | None = None, samples: pa.StructArray | None = None
) -> dict[str, pa.Array]:
    """The columns of its source alongside the key, an entry per snapshot, as far as its state and its sample show them:
    of the elements of `array` a state has the fields `listed`, and whether columns are known that are `measured`.
    """
    columns = ({} if states is None else _fields(states)) | ({} if samples is None else _fields(samples))
    if kind.array is not None:
        lists = _fields(columns[kind.array]) if kind.array in columns else {}
        lists |= {name: columns.pop(name) for name in kind.numbers if name in columns}
        columns[kind.array] = elements_of(lists)
    return columns


def _fields(structs: pa.StructArray) -> dict[str, pa.Array]:
    return dict(zip((field.name for field in structs.type), structs.flatten(), strict=True))
