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
    """The page: the frame, a section per source, and an item per result: messages explain what is a bug."""
    shared = "\n".join(f"- `{'…' * name.startswith('_')}{name}`: {says}" for name, says in _SHARED.items())
    sources = "\n\n".join("\n".join(_section(suite)) for suite in SUITES if suite.table in SOURCES)
    results = "\n".join(map(_item, (suite for suite in SUITES if suite.table not in SOURCES)))
    frame = _FRAME.read_text(encoding="utf-8")
    return frame.replace("{sources}", sources).replace("{results}", results).replace("{shared}", shared)


def _section(suite: Suite) -> Iterator[str]:
    expectations = (*suite.expectations, KEYS_ARE_UNIQUE)
    shared = [each.name for each in expectations if each.name.endswith(tuple(_SHARED))]
    yield from (f"### {suite.table.name}", "", f"Shared: {', '.join(f'`{name}`' for name in shared)}.", "")
    for each in expectations:
        if each.name not in shared:
            warns = " Else exit code 2." if each.severity is Severity.WARNING else ""
            yield f"- `{each.name}`: {each.says}{warns}"


def _item(suite: Suite) -> str:
    names = (f"`{each.name}`" + " (exit code 2)" * (each.severity is Severity.WARNING) for each in suite.expectations)
    return f"- **{suite.table.name}**: {', '.join(names)}, `{KEYS_ARE_UNIQUE.name}`."


if __name__ == "__main__":
    PAGE.write_text(handbook(), encoding="utf-8")
