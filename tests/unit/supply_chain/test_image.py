"""What the image installs is a part of the project's lock, with its hashes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def pins(lock: Path) -> set[tuple[str, str, str]]:
    """(package, version, its hashes as the lock writes them); a package may have a version per Python."""
    text = lock.read_text(encoding="utf-8")
    packages = re.findall(r"^([\w.-]+)==([^\s;\\]+)(.*?)(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE)
    return {(name, version, " ".join(sorted(re.findall(r"sha256:\w+", rest)))) for name, version, rest in packages}


def test_the_image_installs_what_was_tested_and_no_tool_of_development() -> None:
    image = pins(ROOT / "deploy" / "requirements.lock")
    names = {name for name, _, _ in image}
    assert {"pyspark", "delta-spark", "deltalake", "great-expectations", "obstore"} <= names
    assert not {"pytest", "mypy", "apache-airflow"} & names
    assert image <= pins(ROOT / "requirements.lock")
