"""Lines of a recording → outcomes, exactly one for each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from schemas import Table
from spark_jobs.domain.intervals import format_utc
from spark_jobs.ingest import fastjson
from spark_jobs.ingest.fields import Record
from spark_jobs.ingest.files import Line
from spark_jobs.ingest.instants import instant
from spark_jobs.ingest.kinds import KINDS, Kind
from spark_jobs.ingest.reasons import RejectedError, RejectReason

#: Characters of a cluster's name, as of any other: the audit sets rows with longer ones aside.
LONGEST_CLUSTER: Final = 255


@dataclass(frozen=True, slots=True)
class Row:
    """An observation: a row of the table, by column."""

    line: Line
    table: Table
    values: dict[str, object]

    @property
    def key(self) -> tuple[object, ...]:
        """The values of the table's key."""
        return tuple(self.values[name] for name in self.table.key)


@dataclass(frozen=True, slots=True)
class Meta:
    """What was recorded: the lines below it are of this cluster."""

    line: Line
    cluster: str


@dataclass(frozen=True, slots=True)
class NoObservation:
    """Nobody answered, or the answer says nothing about the cluster's state."""

    line: Line
    kind: str
    error: str


@dataclass(frozen=True, slots=True)
class Blank:
    """A line of white space."""

    line: Line


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A line that cannot become a row: for which table and key, as far as it tells, and why."""

    line: Line
    table: Table | None
    key: dict[str, object]
    reason: RejectReason
    detail: str


def conflicting(row: Row) -> Quarantined:
    """The fate of a row whose key is taken by another row."""
    key = dict(zip(row.table.key, row.key, strict=True))
    moment = row.values["captured_at"]
    key |= {"captured_at": format_utc(moment)} if isinstance(moment, datetime) else {}
    detail = "another observation has the same key and another content; the first one stays"
    return Quarantined(row.line, row.table, key, RejectReason.CONFLICTING_KEY, detail)


Outcome = Row | Meta | NoObservation | Blank | Quarantined


def outcomes(lines: Iterable[Line], cluster: str | None = None) -> Iterator[Outcome]:
    """One outcome per line, in order; `cluster` holds where no readable `meta` line stands above."""
    named = cluster
    for line in lines:
        draft = _Draft()
        try:
            outcome = _outcome(line, named, draft)
        except RejectedError as error:
            outcome = Quarantined(line, draft.table, draft.key, error.reason, error.detail)
        if isinstance(outcome, Meta):
            named = outcome.cluster
        elif draft.is_meta:
            # A recording of some other cluster begins here, and nobody knows which.
            named = cluster
        yield outcome


class _Draft:
    """What is known of a line so far, for the case that it is rejected."""

    def __init__(self) -> None:
        self.is_meta = False
        self.table: Table | None = None
        self.key: dict[str, object] = {}


def _outcome(line: Line, cluster: str | None, draft: _Draft) -> Outcome:
    if line.rejected:
        raise line.rejected
    if not line.content.strip():
        return Blank(line)
    fields = Record(_parsed(_decoded(line.content), RejectReason.NOT_JSON), "line")
    name = fields.text("kind")
    if name == "meta":
        draft.is_meta = True
        return Meta(line, _cluster(fields))
    if name not in KINDS:
        raise RejectedError(RejectReason.UNKNOWN_KIND, f"kind {name!a} is not one of meta, {', '.join(KINDS)}")
    kind = KINDS[name]
    draft.table = kind.table
    captured_at = _read_key(fields, kind, cluster, draft.key)
    columns = _columns(fields, kind, draft.key)
    if columns is None:
        return NoObservation(line, name, fields.text("error"))
    return Row(line, kind.table, draft.key | {"captured_at": captured_at} | columns)


def _cluster(fields: Record) -> str:
    """A name for all lines below: without a limit a long one would be in memory, and in the table, as often."""
    cluster = fields.text("cluster")
    if 1 <= len(cluster) <= LONGEST_CLUSTER:
        return cluster
    raise RejectedError(
        RejectReason.OUT_OF_RANGE, f"line.cluster has {len(cluster)} characters, not 1 to {LONGEST_CLUSTER}"
    )


def _read_key(fields: Record, kind: Kind, cluster: str | None, key: dict[str, object]) -> datetime:
    """Fills the key, readable parts first, so that a rejected line is found by what it does tell."""
    if cluster is not None:
        key["cluster"] = cluster
    for name, column in kind.key_fields.items():
        key[column] = fields.text(name)
    captured_at = instant(fields.integer("at"), "line.at")
    key["captured_at"] = format_utc(captured_at)
    if cluster is None:
        raise RejectedError(
            RejectReason.NO_CLUSTER, "no meta line above names the cluster: give its name when ingesting"
        )
    return captured_at


def _columns(fields: Record, kind: Kind, key: dict[str, object]) -> dict[str, object] | None:
    """The columns beside the key; None where the answer is no observation."""
    columns = _answered(fields, kind, key)
    if columns is not None:
        for name, columns_of in kind.beside.items():
            text = fields.text_or_none(name)
            parsed = None if text is None else _parsed(text, RejectReason.BODY_UNREADABLE)
            columns = columns | columns_of(parsed, key)
    return columns


def _answered(fields: Record, kind: Kind, key: dict[str, object]) -> dict[str, object] | None:
    error = fields.text_or_none("error")
    if error is None:
        return kind.columns_of_body(_parsed(fields.text("body"), RejectReason.BODY_UNREADABLE), key)
    if fields.get("body") is not None:
        raise RejectedError(RejectReason.CONTRADICTION, "the line has both a body and an error")
    return kind.columns_of_error(error)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RejectedError(RejectReason.NOT_UTF8, f"{error.reason} at byte {error.start}") from None


def _parsed(text: str, reason: RejectReason) -> object:
    try:
        return fastjson.parse(text)
    except fastjson.FastjsonError as error:
        raise RejectedError(reason, str(error)) from None
