"""Claims in an object store, which locks no files: an object that its holder renews as long as it lives.

Who wants one writes it first and looks for others then, so of two at once at least one sees the other. Both may: then
both take theirs back, and try again a little later. How old another's is, its store says: no machine's clock counts.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.store import ObjectStore

from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location
from spark_jobs.store.s3.objects import object_store

if TYPE_CHECKING:
    from obstore import ObjectMeta  # in its stub only

    from spark_jobs.pipeline.publish.claim_files import ConflictCheck

_LOG = logging.getLogger(__name__)
#: One that was not renewed for so long is that of a killed process.
LEASE = timedelta(seconds=120)
#: Seconds; several may fail before others take it for dead.
_RENEWED_EVERY = 20.0
#: The folder of notes, in that of claims.
_NOTES = "notes/"


@dataclass(frozen=True)
class Leases:
    """The claims of a warehouse in an object store, as `claims.Claims` says."""

    location: Location
    store: ObjectStore

    @classmethod
    def of(cls, location: Location) -> Leases:
        """Raises `WarehouseError` where the environment does not say how the store is reached."""
        return cls(location, object_store(location))

    @contextmanager
    def hold(self, name: str, content: str, refuse: ConflictCheck) -> Iterator[None]:
        """As `Claims.hold`."""
        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(name, content, ended), daemon=True)
        try:
            refuse(self._other_claims(name, content))
            renewing.start()
            yield
        finally:
            ended.set()
            if renewing.is_alive():
                renewing.join()
            self._drop(name)

    def _other_claims(self, name: str, content: str) -> Mapping[str, str]:
        """The claims of others that live, once the own one is written."""
        self._put(name, content)
        try:
            modified = {entry["path"]: entry["last_modified"] for entry in self._entries()}
            now = modified.pop(name)
            alive = (other for other, at in modified.items() if now - at <= LEASE)
            return {other: text for other in alive if (text := self._content(other)) is not None}
        except Exception as error:
            raise self._failed(error) from error

    def has(self, name: str) -> bool:
        """As `Claims.has`."""
        return self._content(name) is not None

    def drop_dead(self) -> None:
        """As `Claims.drop_dead`."""
        with self.hold(name := f"look-{time.time_ns()}", "", lambda _: None):
            modified = {entry["path"]: entry["last_modified"] for entry in self._entries()}
            for other, at in modified.items():
                if modified[name] - at > LEASE:
                    _LOG.warning("%s is of a killed process: it is removed", other)
                    self._drop(other)

    def write_note(self, name: str, text: str) -> None:
        """As `Claims.write_note`."""
        self._put(f"{_NOTES}{name}", text)

    def notes(self) -> dict[str, str]:
        """As `Claims.notes`."""
        names = sorted(entry["path"] for page in obstore.list(self.store, _NOTES) for entry in page)
        return {name.removeprefix(_NOTES): self._content(name) or "" for name in names}

    def drop_note(self, name: str) -> None:
        """As `Claims.drop_note`."""
        obstore.delete(self.store, f"{_NOTES}{name}")

    def _entries(self) -> list[ObjectMeta]:
        """What the store says of each claim."""
        entries = (entry for page in obstore.list(self.store) for entry in page)
        return [entry for entry in entries if not entry["path"].startswith(_NOTES)]

    def _content(self, name: str) -> str | None:
        try:
            return bytes(obstore.get(self.store, name).bytes()).decode()
        except FileNotFoundError:
            return None  # its holder has just ended

    def _put(self, name: str, text: str) -> None:
        try:
            obstore.put(self.store, name, text.encode())
        except Exception as error:
            raise self._failed(error) from error

    def _renew(self, name: str, content: str, ended: threading.Event) -> None:
        while not ended.wait(_RENEWED_EVERY):
            try:
                self._put(name, content)
            except WarehouseError as error:
                _LOG.warning("the claim %s could not be renewed: %s", name, error)

    def _drop(self, name: str) -> None:
        try:
            obstore.delete(self.store, name)
        except Exception as error:
            _LOG.warning("the claim %s could not be removed, it ends by itself: %s", name, error)

    def _failed(self, error: Exception) -> WarehouseError:
        return WarehouseError(f"the claims of {self.location.location} cannot be written: {error}")
