"""Files are loaded as they are closed, and what could not be loaded is tried again."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.cli import loading
from spark_jobs.cli.loading import Loading
from spark_jobs.errors import PublishConflictError


def test_files_are_loaded_in_order_moved_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def ingest(_spark: Any, _warehouse: Any, files: list[Path]) -> None:
        (file,) = files
        tried.append(file.name)
        if file.name == "2.jsonl.gz" and tried.count(file.name) == 1:
            raise PublishConflictError("other writers leave no gap")

    monkeypatch.setattr(loading, "start_spark", lambda _say: None)
    monkeypatch.setattr(loading, "ingest", ingest)
    for name in ("2.jsonl.gz", "1.jsonl.gz", "3.jsonl.gz.partial"):
        (tmp_path / name).touch()
    with Loading(str(tmp_path / "warehouse"), tmp_path) as loads:
        (tmp_path / "3.jsonl.gz.partial").rename(tmp_path / "3.jsonl.gz")
        loads.load(tmp_path / "3.jsonl.gz")
    assert tried[:2] == ["1.jsonl.gz", "2.jsonl.gz"]
    assert sorted(set(tried)) == ["1.jsonl.gz", "2.jsonl.gz", "3.jsonl.gz"]
    assert tried.count("2.jsonl.gz") == 2
    assert sorted(path.name for path in (tmp_path / "loaded").iterdir()) == ["1.jsonl.gz", "2.jsonl.gz", "3.jsonl.gz"]
    assert not list(tmp_path.glob("*.jsonl.gz"))
