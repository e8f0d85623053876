"""The errors of the API: whatever fails below is raised as one of the project's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from spark_jobs.errors import RebalanceAuditError, UnexpectedError
from spark_jobs.runtime.extras import needed_extra
from spark_jobs.runtime.faults import explained

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
            raise _own(error, self) from error

    return with_own_errors


def _own(error: Exception, warehouse: Any) -> RebalanceAuditError:
    """Return the error in a sentence, with the notes that it has."""
    missing = needed_extra(error) if isinstance(error, ImportError) else None
    if missing is not None:
        return missing
    first_line = (str(error).splitlines() or [""])[0]
    sentence = explained(error, warehouse.location.local_path) or f"{type(error).__name__}: {first_line}"
    return UnexpectedError("\n".join((sentence, *getattr(error, "__notes__", ()))))
