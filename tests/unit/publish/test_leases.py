"""Claims in an object store, here one in memory: who holds one excludes others as long as it lives."""

import threading
import time
from collections.abc import Mapping
from datetime import timedelta

import obstore
import pytest
from obstore.store import MemoryStore

from spark_jobs.errors import PublishConflictError, WarehouseError
from spark_jobs.pipeline.publish import claims, leases
from spark_jobs.pipeline.publish.claims import check_free, claim, claims_of, drop_dead_claims
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location
from spark_jobs.store.s3 import objects
from tests.unit.publish.test_claims import ELEVEN, TEN, take

BUCKET = Location.parse("s3a://bucket/audit")


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryStore:
    made = MemoryStore()
    monkeypatch.setattr(leases, "object_store", lambda _: made)
    monkeypatch.setattr(objects, "object_store", lambda _: made)
    monkeypatch.setattr(claims, "_AT_ONCE", 0.2)
    return made


def names(store: MemoryStore) -> list[str]:
    return sorted(entry["path"] for page in obstore.list(store) for entry in page)


def test_of_many_at_once_one_holds_the_steps(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "_AT_ONCE", 30.0)
    inside, most, done = 0, 0, 0

    def hold(name: str) -> None:
        nonlocal inside, most, done
        with claim(BUCKET, RunSpec(TEN), name):
            inside += 1
            most = max(most, inside)
            time.sleep(0.01)
            inside -= 1
            done += 1

    holders = [threading.Thread(target=hold, args=(f"{number}",)) for number in range(6)]
    for one in holders:
        one.start()
    for one in holders:
        one.join(timeout=60)
    assert (most, done) == (1, 6)


def test_what_is_renewed_stays_and_what_is_not_ends(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.5))
    monkeypatch.setattr(leases, "_RENEWED_EVERY", 0.05)
    obstore.put(store, "run-killed", RunSpec(ELEVEN).as_json().encode())
    with claim(BUCKET, RunSpec(TEN), "alive") as held:
        time.sleep(0.8)
        with pytest.raises(PublishConflictError):
            take(claim(BUCKET, RunSpec(TEN), "other"))
        take(claim(BUCKET, RunSpec(ELEVEN), "after the killed"))
        drop_dead_claims(BUCKET)
        assert names(store) == [held.name, f"tokens/{held.name}"]
    assert names(store) == []


def test_a_claim_that_another_took_for_dead_is_lost(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.2))
    with claim(BUCKET, RunSpec(TEN), "suspended") as held:
        held.check()
        time.sleep(0.3)
        take(claim(BUCKET, RunSpec(ELEVEN), "other"))
        for _ in range(2):
            with pytest.raises(WarehouseError, match="another process took over"):
                held.check()
    assert names(store) == []


def test_a_claim_renewed_while_taken_for_dead_is_alive(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It had been suspended, and renewed its claim just before its token was removed: its next commit may be done."""
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.2))
    delete = obstore.delete
    with claim(BUCKET, RunSpec(TEN), "suspended") as held:

        def renewed_first(store: MemoryStore, name: str) -> None:
            if name == f"tokens/{held.name}":
                held.check()
            delete(store, name)

        time.sleep(0.3)
        with monkeypatch.context() as patch:
            patch.setattr(obstore, "delete", renewed_first)
            patch.setattr(claims, "_AT_ONCE", 0.0)
            with pytest.raises(PublishConflictError, match="suspended"):
                take(claim(BUCKET, RunSpec(TEN), "other"))
        with pytest.raises(WarehouseError):
            held.check()


def test_a_look_at_the_claims_leaves_them_alone(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", timedelta(seconds=0.2))
    with claim(BUCKET, RunSpec(TEN), "first") as held:
        with pytest.raises(PublishConflictError, match="run first is auditing"):
            check_free(BUCKET, RunSpec(TEN))
        check_free(BUCKET, RunSpec(ELEVEN))
        time.sleep(0.3)
        check_free(BUCKET, RunSpec(TEN))
        held.check()
        assert names(store) == [held.name, f"tokens/{held.name}"]


def test_a_note_outlives_its_process(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE", timedelta(0))
    kept = claims_of(BUCKET)
    assert kept is not None
    kept.write_note("killed", "text")
    drop_dead_claims(BUCKET)
    assert kept.notes() == {"killed": "text"}


def test_a_store_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError("no credentials")

    monkeypatch.setattr(obstore, "put", fails)
    cannot_be_written = "s3a://bucket/audit cannot be written: no credentials"
    with pytest.raises(WarehouseError, match=cannot_be_written):
        take(claim(BUCKET, RunSpec(TEN), "taken"))
    with pytest.raises(WarehouseError, match=cannot_be_written):
        objects.check_puts(BUCKET)


def test_a_store_that_overwrites_is_refused(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    objects.check_puts(BUCKET)
    assert names(store) == []
    put = obstore.put

    def overwrites(store: MemoryStore, name: str, content: bytes, **_: Mapping[str, object]) -> None:
        put(store, name, content)

    monkeypatch.setattr(obstore, "put", overwrites)
    with pytest.raises(WarehouseError, match="ignores conditional writes"):
        objects.check_puts(BUCKET)
