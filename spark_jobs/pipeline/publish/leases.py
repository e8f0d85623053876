"""Claims in an object store, which locks no files: an object that its holder renews as long as it lives.

Who wants one writes it first and looks for others then, so of two at once at least one sees the other. Both may: then
both take theirs back, and try again a little later. How old another's is, its store says: no machine's clock counts.

A process that was suspended renews its claim when it continues. So each claim has a token, an object that is written
once. A process that takes another's claim for dead removes its token, and looks again: a claim that was renewed by then
is alive. The holder renews its claim, and looks for its token, before each commit.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import obstore
from obstore.store import ObjectStore

from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location
from spark_jobs.store.s3.objects import object_store, reason

if TYPE_CHECKING:
    from spark_jobs.pipeline.publish.claim_files import ConflictCheck

_LOG = logging.getLogger(__name__)
#: One that was not renewed for so long is that of a killed process.
LEASE = timedelta(seconds=120)
#: Seconds; several may fail before others take it for dead.
_RENEWED_EVERY = 20.0
#: The folders of notes and of tokens, in that of claims.
_NOTES, _TOKENS = "notes/", "tokens/"


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
        """See `Claims.hold`."""
        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(name, ended), daemon=True)
        try:
            refuse(self._other_claims(name, content))
            renewing.start()
            yield
        finally:
            ended.set()
            if renewing.is_alive():
                renewing.join()
            self._drop(f"{_TOKENS}{name}")
            self._drop(name)

    def _other_claims(self, name: str, content: str) -> Mapping[str, str]:
        """The claims of others that live, once the own one is written."""
        self._put(name, content)
        self._put(f"{_TOKENS}{name}", "")
        try:
            dead = self._dead(name)
            for other in dead:
                self.take(other)
            alive = [other for other, at in self._modified().items() if other != name and dead.get(other) != at]
            return self._contents(alive)
        except Exception as error:
            raise self._failed(error) from error

    def take(self, name: str) -> None:
        """Take the claim of another process for dead: its holder has it no longer."""
        self._delete(f"{_TOKENS}{name}")

    def has(self, name: str) -> bool:
        """See `Claims.has`."""
        content = self._content(name)
        if content is None:
            return False
        self._put(name, content)
        return self._content(f"{_TOKENS}{name}") is not None

    def active(self) -> dict[str, str]:
        """See `Claims.active`. What it writes excludes nobody: only by that the store says how old the others are."""
        self._put(name := f"look-{uuid.uuid4().hex}", "")
        try:
            dead = self._dead(name)
            return self._contents(other for other in self._modified() if other not in {name, *dead})
        finally:
            self._drop(name)

    def drop_dead(self) -> None:
        """See `Claims.drop_dead`."""
        with self.hold(name := f"look-{time.time_ns()}", "", lambda _: None):
            for other in self._dead(name):
                _LOG.warning("%s is of a killed process: it is removed", other)
                self._drop(other)

    def write_note(self, name: str, text: str) -> None:
        """See `Claims.write_note`."""
        self._put(f"{_NOTES}{name}", text)

    def notes(self) -> dict[str, str]:
        """See `Claims.notes`."""
        names = sorted(entry["path"] for page in obstore.list(self.store, _NOTES) for entry in page)
        return {name.removeprefix(_NOTES): self._content(name) or "" for name in names}

    def drop_note(self, name: str) -> None:
        """See `Claims.drop_note`."""
        self._delete(f"{_NOTES}{name}")

    def _delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            obstore.delete(self.store, name)

    def _modified(self) -> dict[str, datetime]:
        """When each claim was renewed, as the store says."""
        entries = (entry for page in obstore.list(self.store) for entry in page)
        return {
            entry["path"]: entry["last_modified"]
            for entry in entries
            if not entry["path"].startswith((_NOTES, _TOKENS))
        }

    def _dead(self, name: str) -> dict[str, datetime]:
        """Claims that were not renewed for `LEASE` when the one of this name was, and when they were."""
        modified = self._modified()
        return {other: at for other, at in modified.items() if modified[name] - at > LEASE}

    def _content(self, name: str) -> str | None:
        try:
            return bytes(obstore.get(self.store, name).bytes()).decode()
        except FileNotFoundError:
            return None  # its holder has just ended

    def _contents(self, names: Iterable[str]) -> dict[str, str]:
        """The content of each claim that has not ended meanwhile."""
        return {name: text for name in names if (text := self._content(name)) is not None}

    def _put(self, name: str, text: str) -> None:
        try:
            obstore.put(self.store, name, text.encode())
        except Exception as error:
            raise self._failed(error) from error

    def _renew(self, name: str, ended: threading.Event) -> None:
        """Until it ends, or is lost."""
        while not ended.wait(_RENEWED_EVERY):
            try:
                if not self.has(name):
                    _LOG.warning("the lease %s was taken for that of a killed process: it is not renewed", name)
                    return
            except Exception as error:
                _LOG.warning("the lease %s could not be renewed: %s", name, error)

    def _drop(self, name: str) -> None:
        try:
            self._delete(name)
        except Exception as error:
            _LOG.warning("the lease %s could not be removed, it ends by itself: %s", name, error)

    def _failed(self, error: Exception) -> WarehouseError:
        return WarehouseError(f"the leases of {self.location.location} cannot be written: {reason(error)}")
