"""Conflicts of Delta's writers, and further tries of a commit."""

from collections.abc import Callable
from typing import Final, TypeVar

from delta import exceptions
from pyspark.errors import AnalysisException
from tenacity import RetryError, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from spark_jobs.errors import PublishConflictError

T = TypeVar("T")

#: The first is not the base of the others.
_CONFLICTS: Final = (
    exceptions.DeltaConcurrentModificationException,
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)
#: What is seen between another writer's making of the folder and of the table in it.
_HALF_MADE: Final = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "DELTA_TABLE_NOT_FOUND")
_ATTEMPTS: Final = 8


def retry_on_conflict(commit: Callable[[], T], what: str) -> T:
    """The commit's result, with retries for some seconds if other writers win. Raises `PublishConflictError`."""
    retrying = Retrying(
        retry=retry_if_exception(_is_outrun),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.2, max=5),
    )
    try:
        return retrying(commit)
    except RetryError as error:
        cause = str(error.last_attempt.exception()).partition("\n")[0]
        raise PublishConflictError(
            f"other writers leave no gap to {what}: try again when they are done: {cause}"
        ) from None


def _is_outrun(error: BaseException) -> bool:
    half_made = isinstance(error, AnalysisException) and error.getCondition() in _HALF_MADE
    return half_made or isinstance(error, _CONFLICTS)
