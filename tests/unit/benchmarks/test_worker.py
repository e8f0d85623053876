"""How spark-submit starts a task: as a script, whose folder comes before the standard library."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import worker


def test_no_module_beside_the_script_hides_one_of_the_standard_library() -> None:
    beside = {path.stem for path in Path(worker.__file__).parent.glob("*.py")}
    assert not beside & sys.stdlib_module_names
