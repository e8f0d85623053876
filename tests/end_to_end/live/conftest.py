"""Which tests a version of RocketMQ can run."""

import pytest

from tests.end_to_end.live.cluster import VERSION
from tests.end_to_end.live.processes import has_proxy


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, of versions without a proxy on Maven Central, all but `test_versions`; of the others just that."""
    is_today = "+" not in VERSION and has_proxy(VERSION)
    for item in items:
        if item.get_closest_marker("live") and (item.module.__name__.endswith("test_versions")) is is_today:  # type: ignore[attr-defined]
            item.add_marker(pytest.mark.skip(f"not of RocketMQ {VERSION}"))
