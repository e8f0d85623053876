"""Claims: mutual exclusion of processes that share a warehouse.

Whoever begins writes a claim alongside the tables that says what it is about to do, if no other claim that is held
excludes it. A claim ends with its process and the Java of that, however they end: on a file system it is a locked file
(`claim_files`), of which the operating system lets go; on S3 it is an object that is renewed (`leases`), and ends two
minutes after a kill.
A process that was suspended for so long has lost it, too: it checks before every commit that it holds its claims still,
and whoever takes its turn fences it (`turns`).
Elsewhere there are none, and Delta's own conflict detection is what keeps two publishers of one step apart.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

from spark_jobs.errors import PublishConflictError, WarehouseError
from spark_jobs.pipeline.publish.claim_files import ClaimFiles, ConflictCheck
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.location import Location

#: Beginnings of the names of claims.
_RUN, _TASK, _TURN, _NOTICES, _INCIDENTS = "run-", "task-", "turn-", "notices-", "incidents-"
#: How long one waits for another one to end, in seconds: where both begin at once, both may step back some times.
_AT_ONCE, _NOTICES_TIMEOUT, _TURN_TIMEOUT, _INCIDENTS_TIMEOUT = 5.0, 60.0, 1800.0, 600.0
#: More than a record of what was sent takes: on a full disk there is no such claim, and nothing is sent twice.
_ROOM_TO_RECORD = " " * 65536


class Claims(Protocol):
    """The claims of one warehouse: texts by name."""

    def hold(self, name: str, content: str, refuse: ConflictCheck) -> AbstractContextManager[None]:
        """Holds a claim; raises what `refuse` raises of those that others hold."""

    def has(self, name: str) -> bool:
        """Return whether the claim is held still: the process that holds it asks, and no other has taken it for
        dead.
        """

    def active(self) -> Mapping[str, str]:
        """The claims that are held now."""

    def drop_dead(self) -> None:
        """Removes what killed processes have left; claims that are held stay."""

    def write_note(self, name: str, text: str) -> None:
        """Leaves a text that stays when its process ends."""

    def notes(self) -> Mapping[str, str]:
        """The notes that are there, by name."""

    def drop_note(self, name: str) -> None:
        """Removes a note, if it is there."""


@dataclass(frozen=True)
class Claimed:
    """A claim that this process holds. Its name is its token: no other claim has ever had it."""

    warehouse: Location
    claims: Claims | None
    name: str

    def check(self) -> None:
        """Raises `WarehouseError` if the claim is not held any more: the process must not write then."""
        if self.claims and not self.claims.has(self.name):
            raise WarehouseError(
                f"the warehouse {self.warehouse.location} is not there any more, or not the same, or another process "
                "took over: the warehouse was moved, removed or unmounted, or this process was suspended. Nothing more "
                "is published: run it again"
            )


def are_leases(warehouse: Location) -> bool:
    """Return whether another process may take a claim while the process that holds it is only suspended."""
    return warehouse.is_on_s3


def claims_of(warehouse: Location) -> Claims | None:
    """Return the claims of a warehouse; None where it has none, or where there is no such folder."""
    if are_leases(warehouse):
        from spark_jobs.pipeline.publish.leases import Leases  # a library of 15 MB, for warehouses on S3 only

        return Leases.of(warehouse)
    folder = warehouse.local_path
    return ClaimFiles(folder / "_claims") if folder and folder.is_dir() else None


def claim(warehouse: Location, spec: RunSpec, run_id: str) -> AbstractContextManager[Claimed]:
    """Holds the run's steps for this run; raises `PublishConflictError` if another run holds some of them."""
    refuse = _refusing_overlaps(warehouse, spec)
    return _claimed(warehouse, f"{_RUN}{run_id}.", spec.as_json(), refuse, _at_once(warehouse))


def check_free(warehouse: Location, spec: RunSpec) -> None:
    """Raises `PublishConflictError` if a run holds some of the run's steps; holds none itself."""
    if claims := claims_of(warehouse):
        _refusing_overlaps(warehouse, spec)(claims.active())


def _refusing_overlaps(warehouse: Location, spec: RunSpec) -> ConflictCheck:
    def refuse(other_claims: Mapping[str, str]) -> None:
        for name, content in other_claims.items():
            if name.startswith(_RUN) and spec.overlaps(other := RunSpec.from_json(content)):
                other_id = name.removeprefix(_RUN).rpartition(".")[0]
                raise PublishConflictError(
                    f"run {other_id} is auditing {other.interval} in this warehouse, which overlaps "
                    f"{spec.interval}: wait for it to end, or audit other steps{_or_killed(warehouse)}"
                )

    return refuse


def claim_task(warehouse: Location, run_name: str, staging: str) -> AbstractContextManager[Claimed]:
    """Lets one process at a time do a task of a scheduled run, as all of them stage under one name.

    A scheduler that loses a worker tries its task again, while the Spark that the worker has started may still be at
    it: raises `PublishConflictError` then.
    """
    says = f"another process is still doing a task of run {run_name}: try again when it has ended, or end it"
    return _alone(warehouse, f"{_TASK}{staging}.", f"{says}{_or_killed(warehouse)}", _at_once(warehouse))


def claim_turn(warehouse: Location) -> AbstractContextManager[Claimed]:
    """Lets one run at a time publish; the next one waits, for half an hour at most: then `PublishConflictError`."""
    says = f"other runs have been publishing in {warehouse.location} for {_TURN_TIMEOUT:g} s: try again later"
    return _alone(warehouse, _TURN, says, _TURN_TIMEOUT)


def claim_notices(warehouse: Location) -> AbstractContextManager[Claimed]:
    """Lets one process at a time read which notifications were sent, send new ones, and record them.

    The next one waits for it, and then has nothing to send; raises `PublishConflictError` where that takes too long,
    and the error of the disk where it is full.
    """
    says = f"another process has been sending notifications of {warehouse.location} for {_NOTICES_TIMEOUT:g} s"
    says += ": try again when it is done"
    return _alone(warehouse, _NOTICES, says, _NOTICES_TIMEOUT, _ROOM_TO_RECORD)


def claim_incidents(warehouse: Location) -> AbstractContextManager[Claimed]:
    """Let one process at a time replace the table `incidents`; the next one waits, or raises `PublishConflictError`."""
    says = f"other processes have been writing the table incidents of {warehouse.location} for {_INCIDENTS_TIMEOUT:g} s"
    return _alone(warehouse, _INCIDENTS, f"{says}: run `incidents --publish` when they are done", _INCIDENTS_TIMEOUT)


def drop_dead_claims(warehouse: Location) -> None:
    """Removes what killed runs have left; claims that are held stay."""
    if claims := claims_of(warehouse):
        claims.drop_dead()


def _alone(
    warehouse: Location, kind: str, says: str, timeout: float, content: str = ""
) -> AbstractContextManager[Claimed]:
    """Holds the only claim whose name begins like this."""

    def refuse(other_claims: Mapping[str, str]) -> None:
        if any(name.startswith(kind) for name in other_claims):
            raise PublishConflictError(says)

    return _claimed(warehouse, kind, content, refuse, timeout)


@contextmanager
def _claimed(warehouse: Location, kind: str, content: str, refuse: ConflictCheck, timeout: float) -> Iterator[Claimed]:
    """Holds a claim whose name begins like this; tries for so many seconds, then raises what `refuse` raises."""
    claims = claims_of(warehouse)
    claimed = Claimed(warehouse, claims, f"{kind}{uuid.uuid4().hex}")
    if claims is None:
        yield claimed
        return
    retrying = Retrying(
        retry=retry_if_exception_type(PublishConflictError),
        stop=stop_after_delay(timeout),
        wait=wait_random_exponential(multiplier=0.05, max=0.5),
        reraise=True,
    )
    with ExitStack() as stack:
        retrying(lambda: stack.enter_context(claims.hold(claimed.name, content, refuse)))
        yield claimed


def _at_once(warehouse: Location) -> float:
    """How long one waits for another that may have begun at the same moment: files let one in after the other."""
    return _AT_ONCE if are_leases(warehouse) else 0.0


def _or_killed(warehouse: Location) -> str:
    return ". If it was killed, its lease ends two minutes after" if are_leases(warehouse) else ""
