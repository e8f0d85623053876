"""The location of a warehouse's tables. Nothing heavy is imported here."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

from schemas import AUDIT_RUNS, OUTPUTS, SOURCES, Table
from schemas.differences import differences, lasting_differences
from spark_jobs.errors import SchemaMismatchError, WarehouseError

_CATALOG_SCHEMA = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_PASSWORD = re.compile(r"[^/]*//[^/]*:[^/]*@")
_LOCAL = "file"
#: What a `file:` URI of this host has before its path.
_BEFORE_PATH = re.compile(r"file:(//(localhost)?(?=/)|(?=/(?!/)))", re.IGNORECASE)
#: Spark takes these literally; delta-rs decodes or rejects them.
_NOT_LITERAL = re.compile(r"%[0-9A-Fa-f]{2}|[\[\]^|\\\x00-\x1f\x7f]")
#: Spark takes a URI's query and fragment for a part of its path; other readers cut them off.
_NOT_LITERAL_IN_URI = re.compile(rf"{_NOT_LITERAL.pattern}|[?#]")
#: Of a warehouse on S3.
S3_SCHEMES = ("s3a", "s3")


def check_all(checks: Iterable[Callable[[], None]]) -> None:
    """Raises one `SchemaMismatchError` with what all the checks say, a line each."""
    problems = []
    for check in checks:
        try:
            check()
        except SchemaMismatchError as error:
            problems.append(str(error))
    if problems:
        raise SchemaMismatchError("\n".join(problems))


@dataclass(frozen=True)
class Location:
    """A root URI (`/data/audit`, `s3a://bucket/audit`) with a folder per table, or a `catalog.schema`."""

    location: str
    in_catalog: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """The named warehouse; raises `WarehouseError` if it is neither a path or URI that every reader of Delta takes
        literally nor catalog.schema, or has a password.
        """
        text = text.strip()
        if not text:
            raise WarehouseError("the warehouse is empty: give a path, a URI, or catalog.schema")
        if _CATALOG_SCHEMA.fullmatch(text) and not Path(text).exists():
            return cls(text, in_catalog=True)
        scheme = _scheme(text)
        if scheme == _LOCAL:
            location = f"{_LOCAL}:{_path_of(text)}"
        else:
            location = text.rstrip("/") if scheme else str(Path(text).absolute())
        if scheme and _PASSWORD.match(text):
            raise WarehouseError("the warehouse's URI has credentials in it: give them in the environment instead")
        _check_literal(location, _NOT_LITERAL if scheme in ("", _LOCAL) else _NOT_LITERAL_IN_URI)
        return cls(location, in_catalog=False)

    @property
    def scheme(self) -> str:
        """Of the URI: empty for a path."""
        return "" if self.in_catalog else _scheme(self.location)

    @property
    def is_on_s3(self) -> bool:
        """Return whether it is in an object store that speaks as Amazon's S3."""
        return self.scheme in S3_SCHEMES

    @property
    def local_path(self) -> Path | None:
        """The root as a local directory, or None where it is a catalog or a remote store."""
        if self.in_catalog or self.scheme not in ("", _LOCAL):
            return None
        return Path(self.location.removeprefix(f"{_LOCAL}:"))

    def identifier(self, name: str) -> str:
        """The table of that name as Spark's SQL calls it."""
        if self.in_catalog:
            return f"{self.location}.{name}"
        path = f"{self.location}/{name}".replace("`", "``")
        return f"delta.`{path}`"

    def without(self, table: Table) -> WarehouseError:
        """The error that the table is not there."""
        return WarehouseError(
            f"there is no table {table.name} in the warehouse {self.location}: "
            "load one with `rebalance-audit ingest FILE… --warehouse URI`, or check the URI"
        )

    def check_schema(self, columns: Any, table: Table, *, older: bool = False) -> None:
        """Raise `SchemaMismatchError` for differences to the table's module; `older`: only if an upgrade keeps them."""
        lasting = lasting_differences(columns, table)
        if differ := lasting if older else [*differences(columns, table.schema)]:
            raise SchemaMismatchError(
                f"the table {self.location}/{table.name} is not as schemas/{table.name}.py says: {'; '.join(differ)}. "
                f"{self._remedy(table) if lasting else self._upgrade}"
            )

    @property
    def _upgrade(self) -> str:
        command = f"rebalance-audit maintain --upgrade --warehouse {self.location}"
        return f"It comes from an older version: `{command}` brings it up to date"

    def _remedy(self, table: Table) -> str:
        """Of a table that no upgrade can help."""
        beyond_help = "Nothing can bring it up to date"
        if table in SOURCES:
            return f"{beyond_help}: point --warehouse at another one, and load the recordings there with `ingest`"
        of_runs = table in (*OUTPUTS, AUDIT_RUNS)
        filled = ", and `rebalance-audit backfill` fills it from the snapshots" if of_runs else ""
        return f"{beyond_help}: move it away; `rebalance-audit maintain --upgrade` creates it again{filled}"


def _scheme(text: str) -> str:
    match = _SCHEME.match(text)
    return match[1].lower() if match else ""


def _path_of(uri: str) -> Path:
    """The path of a `file:` URI, decoded; a query and a fragment are part of it, as in Spark."""
    before = _BEFORE_PATH.match(uri)
    if before is None:
        raise WarehouseError(f"the warehouse {uri} is no absolute path on this host: write it as file:///data/audit")
    return Path(unquote(uri[before.end() :]))


def _check_literal(location: str, wrong: re.Pattern[str]) -> None:
    if match := wrong.search(location):
        raise WarehouseError(
            f"the warehouse {location} has {match[0]!r} in its path, which not every reader of Delta tables takes "
            "literally: choose a path without %XX, [, ], ^, |, \\ and control characters, and a URI without ? and #"
        )
