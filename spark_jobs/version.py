"""Which rebalance-audit this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def code_version() -> str:
    """The version of rebalance-audit, or that it was not installed."""
    try:
        return version("rebalance-audit")
    except PackageNotFoundError:
        return "not installed"
