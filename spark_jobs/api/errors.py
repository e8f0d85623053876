"""The errors of the API: whatever fails below is raised as one of the project's own, and Spark Connect is refused."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from spark_jobs.errors import RebalanceAuditError, SetupError
from spark_jobs.installation import documentation
from spark_jobs.runtime.faults import own_error

C = TypeVar("C", bound=type)


def only_own_errors(warehouse: C) -> C:
    """Return the class; its public methods raise only `RebalanceAuditError`, and `TypeError` for wrong arguments."""
    for name, method in list(vars(warehouse).items()):
        if callable(method) and not name.startswith("_"):
            setattr(warehouse, name, _with_own_errors(method))
    return warehouse


def _with_own_errors(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def with_own_errors(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return method(self, *arguments, **named)
        except (RebalanceAuditError, TypeError):
            raise
        except Exception as error:
            raise own_error(error, self.location.local_path) from error

    return with_own_errors


def check_no_connect(given: object) -> None:
    """Raise `SetupError` for a session of Spark Connect; needs nothing of Spark itself."""
    if type(given).__module__.startswith("pyspark.sql.connect"):
        raise SetupError(
            "Spark Connect cannot audit, as it reaches neither Delta's log nor the executors' files: run the audit "
            f"with spark-submit ({documentation('cluster')}), and read the results with `open` without a session"
        )
