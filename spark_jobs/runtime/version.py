"""Which rebalance-audit this is."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from spark_jobs.installation import ROOT

#: The folders whose code decides what is published.
_CODE = ("expectations", "schemas", "spark_jobs")


@cache
def code_version() -> str:
    """The version of rebalance-audit (or that it was not installed) and, after a +, a hash of the code that runs."""
    try:
        installed = version("rebalance-audit")
    except PackageNotFoundError:
        installed = "not installed"
    return f"{installed}+{_code_hash(ROOT)}"


def _code_hash(root: Path) -> str:
    """The first 12 digits of the SHA-256 of all Python files, by name."""
    digest = hashlib.sha256()
    for file in sorted(path for name in _CODE for path in (root / name).rglob("*.py")):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
