"""Places of this installation: its own files, in a checkout or in a wheel, and what set-up has fetched."""

import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Folder of `spark_jobs`, `schemas`, `expectations`, `dags` and `examples`.
ROOT = Path(__file__).parents[1]
#: What the names of its modules begin with: nothing in a checkout, `rebalance_audit.` in a wheel.
PREFIX = __name__.removesuffix("spark_jobs.installation")
#: Where the documentation is published, with a slash at its end, as `site_url` of mkdocs.yml; empty: it is not.
SITE = ""


def documentation(page: str) -> str:
    """The place of a page of the documentation, for messages: its URL or, if it is not published, its file."""
    return f"{SITE}{page}.html" if SITE else f"docs/{page}.md in the repository"


def installed_version() -> str:
    """The version of the installed rebalance-audit; `not installed` if Python runs it from a folder."""
    try:
        return version("rebalance-audit")
    except PackageNotFoundError:
        return "not installed"


def fetched(name: str) -> Path:
    """The place of a fetched file: in the Python environment, or in the user's cache if that is not writable."""
    environment, cache = places()
    return (environment if (environment / name).exists() or _is_writable(environment) else cache) / name


def places() -> tuple[Path, Path]:
    """The folders of what was fetched: in the Python environment, and in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(sys.prefix, "share", "rebalance-audit"), Path(cache, "rebalance-audit")


def _is_writable(folder: Path) -> bool:
    """Return whether this user may write into the folder, or make it."""
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(existing, os.W_OK)
