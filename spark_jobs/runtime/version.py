"""Which rebalance-audit this is."""

import hashlib
from functools import cache
from pathlib import Path

from spark_jobs.installation import ROOT, installed_version

#: The folders whose code decides what is published.
_CODE = ("expectations", "schemas", "spark_jobs")


@cache
def code_version() -> str:
    """The installed version and, after a +, a hash of the code that runs."""
    return f"{installed_version()}+{_code_hash(ROOT)}"


def _code_hash(root: Path) -> str:
    """The first 12 digits of the SHA-256 of all Python files, by name."""
    digest = hashlib.sha256()
    for file in sorted(path for name in _CODE for path in (root / name).rglob("*.py")):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
