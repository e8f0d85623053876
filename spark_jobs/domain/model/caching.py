"""Results that are kept with the value that they follow from, as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def cached_with_value(
    function: Callable[Concatenate[Value, Parameters], Result],
) -> Callable[Concatenate[Value, Parameters], Result]:
    """The function, called once per value and other arguments (hashable). Results are in the value's `__dict__`, as
    those of `functools.cached_property`.
    """
    name = f"_{function.__qualname__}"

    @wraps(function)
    def cached(value: Value, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        results: dict[Any, Result] = vars(value).setdefault(name, {})
        key = (*args, *kwargs.items())
        if key not in results:
            results[key] = function(value, *args, **kwargs)
        return results[key]

    return cached
