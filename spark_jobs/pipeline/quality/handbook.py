"""`python -m spark_jobs.pipeline.quality.handbook` writes docs/expectations.md from the suites."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from expectations import SUITES
from expectations.suite import KEYS_ARE_UNIQUE, Expectation, Severity, Suite
from schemas import SOURCES

PAGE = Path(__file__).parents[3] / "docs" / "expectations.md"
_FRAME = Path(__file__).with_name("handbook.md")
#: What becomes of a run when a row breaks an expectation.
_FAILS = {Severity.CRITICAL: "nothing is published", Severity.WARNING: "published, exit code 2"}


def handbook() -> str:
    """The page: the frame, and a section per suite."""
    suites = "\n\n".join("\n".join(_section(suite)) for suite in SUITES)
    return _FRAME.read_text(encoding="utf-8").replace("{suites}", suites)


def _section(suite: Suite) -> Iterator[str]:
    yield from (f"### {suite.table.name}", "", f"{suite.table.comment}.", "")
    yield from ("| expectation | what is expected | if it fails |", "|---|---|---|")
    yield from (_line(suite, expectation) for expectation in suite.expectations)
    key = ", ".join(f"`{name}`" for name in suite.table.key)
    yield f"| `{KEYS_ARE_UNIQUE.name}` | {KEYS_ARE_UNIQUE.says} The key: {key} | {_fails(suite, KEYS_ARE_UNIQUE)} |"


def _line(suite: Suite, expectation: Expectation) -> str:
    return f"| `{expectation.name}` | {expectation.says} | {_fails(suite, expectation)} |"


def _fails(suite: Suite, expectation: Expectation) -> str:
    return "the row is quarantined" if suite.table in SOURCES else _FAILS[suite.severity_of(expectation)]


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
