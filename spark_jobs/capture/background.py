"""Tasks alongside the rounds, which never hold them up."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from itertools import chain
from typing import Any

Task = Callable[[], object]


class Background:
    """Runs tasks by keys, such as the group that they are about, with separate threads."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads)
        self._under_way: dict[str, list[Future[Any]]] = {}

    def begin(self, key: str, tasks: Iterable[Task]) -> None:
        """Start the tasks of the key, unless those before are not done yet. Raises what one of these has raised."""
        before = self._under_way.get(key, [])
        if all(future.done() for future in before):
            finish(before)
            self._under_way[key] = [self._threads.submit(task) for task in tasks]

    def is_idle(self) -> bool:
        """Return whether all tasks are done. Raises what one of them has raised."""
        futures = self._all()
        finish(future for future in futures if future.done())
        return all(future.done() for future in futures)

    def finish(self) -> None:
        """Wait for all tasks. Raises what one of them has raised."""
        finish(self._all())

    def end(self) -> None:
        """Wait for the tasks that are under way; the others do not begin."""
        self._threads.shutdown(cancel_futures=True)

    def _all(self) -> Sequence[Future[Any]]:
        return list(chain.from_iterable(list(self._under_way.values())))


def finish(futures: Iterable[Future[Any]]) -> None:
    """Wait for all, and raise what one of them raised."""
    done, _ = wait(list(futures), return_when=FIRST_EXCEPTION)
    for future in done:
        if not future.cancelled():
            future.result()
