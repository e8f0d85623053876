"""Clients of `mcp` in tests."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import anyio


def in_own_loop(ask: Callable[[], Awaitable[None]]) -> None:
    """Runs it in a thread: a test in a browser leaves a running loop in its own."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, ask).result()
