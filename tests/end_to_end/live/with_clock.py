"""`rebalance-audit` on a host whose clock somebody sets: python -m tests.end_to_end.live.with_clock FILE ARGUMENTS….

The file holds the seconds by which the clock is off.
"""

import sys
import time
from pathlib import Path

from spark_jobs.capture import asking
from spark_jobs.cli.main import main

_OFF = Path(sys.argv[1])


def _time_ns() -> int:
    return time.time_ns() + int(_OFF.read_text()) * 1_000_000_000


asking.time_ns = _time_ns  # type: ignore[attr-defined]
sys.exit(main(sys.argv[2:]))
