"""The version of the code changes with the code, and with nothing else."""

from importlib import metadata
from pathlib import Path

from spark_jobs.runtime.version import _code_hash, code_version


def test_every_line_of_code_counts(tmp_path: Path) -> None:
    for name in ("spark_jobs/a.py", "schemas/b.py", "expectations/deep/c.py", "spark_jobs/d.md", "tests/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one")
    first = _code_hash(tmp_path)
    assert len(first) == 12
    for other in ("spark_jobs/d.md", "tests/e.py"):
        (tmp_path / other).write_text("two")
    assert _code_hash(tmp_path) == first
    (tmp_path / "expectations/deep/c.py").write_text("two")
    second = _code_hash(tmp_path)
    (tmp_path / "expectations/deep/c.py").rename(tmp_path / "expectations/deep/x.py")
    assert len({first, second, _code_hash(tmp_path)}) == 3


def test_it_begins_with_what_is_installed() -> None:
    assert code_version().partition("+")[0] == metadata.version("rebalance-audit")
