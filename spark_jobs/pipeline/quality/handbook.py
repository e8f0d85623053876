"""`python -m spark_jobs.pipeline.quality.handbook` writes docs/expectations.md from the suites."""

from collections.abc import Iterator
from pathlib import Path

from expectations import SUITES
from expectations.common import NAME
from expectations.suite import KEYS_ARE_UNIQUE, Severity, Suite
from schemas import SOURCES

PAGE = Path(__file__).parents[3] / "docs" / "expectations.md"
_FRAME = Path(__file__).with_name("handbook.md")
#: By the end of its name, an expectation that several tables have, and that is explained once.
_SHARED = {
    "_is_a_name": f"the column is {NAME}",
    "_have_no_null": "no element of the array is null",
    "_is_known": "the column is a value of its enum, and not null where it applies",
    "captured_at_is_of_the_run": "the snapshot is of the run's steps or their look-back",
    KEYS_ARE_UNIQUE.name: "no two valid rows have the same [key](tables.md)",
}


def handbook() -> str:
    """The page: the frame, and a section per source. Results have none: messages explain what is a bug."""
    shared = "\n".join(f"- `{'…' * name.startswith('_')}{name}`: {says}" for name, says in _SHARED.items())
    sources = "\n\n".join("\n".join(_section(suite)) for suite in SUITES if suite.table in SOURCES)
    return _FRAME.read_text(encoding="utf-8").replace("{sources}", sources).replace("{shared}", shared)


def _section(suite: Suite) -> Iterator[str]:
    yield from (f"### {suite.table.name}", "")
    for each in suite.expectations:
        if not each.name.endswith(tuple(_SHARED)):
            warns = " Else exit code 2." if each.severity is Severity.WARNING else ""
            yield f"- `{each.name}`: {each.says}{warns}"


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
