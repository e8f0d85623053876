"""The number of random examples: few and always the same in `make test`, many and always others by `make fuzz`."""

import os

from hypothesis import HealthCheck, Phase, settings

_CHECKS = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)


def few(count: int) -> settings:
    """So many, the same in every run."""
    return settings(max_examples=count, derandomize=True, database=None, deadline=None, suppress_health_check=_CHECKS)


def many(share: int = 1) -> settings:
    """`FUZZ_CASES` (20,000), or a share of them."""
    count = int(os.environ.get("FUZZ_CASES", "20000")) // share
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=_CHECKS,
        phases=(Phase.generate, Phase.shrink),
        print_blob=True,
    )
