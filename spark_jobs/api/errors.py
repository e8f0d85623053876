"""The errors of the API: whatever fails below is raised as one of the project's own."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from spark_jobs.errors import RebalanceAuditError
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
