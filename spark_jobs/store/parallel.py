"""Several computations of one session at once: while Spark works for one, another is planned."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

T = TypeVar("T")
#: More only wait for each other: Python and the planning of one query are a thread each.
_AT_ONCE = 4


def run_in_parallel(*functions: Callable[[], T]) -> list[T]:
    """Each function's result, in order, up to four at once. Raises the first error, after those under way."""
    of_caller = inheritable_thread_target(SparkSession.active())
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        futures = [pool.submit(of_caller(function)) for function in functions]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def in_background(function: Callable[[], object]) -> Iterator[None]:
    """Run the function while the block runs, and wait for both. Raises the function's error, or the block's."""
    of_caller = inheritable_thread_target(SparkSession.active())
    with ThreadPoolExecutor(max_workers=1) as pool:
        ended = pool.submit(of_caller(function))
        yield
        ended.result()
