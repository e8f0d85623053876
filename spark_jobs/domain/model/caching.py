"""Results that are kept with the value that they follow from, as long as it lives."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple

Value = TypeVar("Value")
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


def cached_with_value(function: Callable[[Value, *Arguments], Result]) -> Callable[[Value, *Arguments], Result]:
    """The function, called once per value and other (hashable) arguments; results live in the value's `__dict__`."""
    name = f"_{function.__qualname__}"

    @wraps(function)
    def cached(value: Value, /, *arguments: *Arguments) -> Result:
        try:
            known: Result = value.__dict__[name][arguments]
            return known
        except KeyError:
            result = vars(value).setdefault(name, {})[arguments] = function(value, *arguments)
            return result

    return cached
