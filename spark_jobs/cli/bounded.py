"""Answers of a bounded size: long lists are cut, and the answer names the pages that follow."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, Field, NonNegativeInt

from spark_jobs.errors import UsageError

#: Characters of an answer's JSON, at most: some ten thousand tokens.
MOST = 40_000
#: Elements of each list: the first number with which the answer is short enough.
_LENGTHS = (20, 10, 5, 2, 1, 0)


class Page(BaseModel):
    """The rest of a list that an answer leaves out."""

    list: str = Field(description="where it is, such as incidents or incidents[0].queues")
    offset: NonNegativeInt = Field(default=0, description="index of the first element left out")
    total: int | None = Field(default=None, description="elements of the whole list")


def bounded(document: dict[str, Any], page: Page | None = None) -> dict[str, Any]:
    """The document, with at most `MOST` characters of JSON, and `more`: the pages that it leaves out. Of a page, only
    its list and what leads there. Raises `UsageError` for an unknown list, and where cut lists are not enough.
    """
    for length in _LENGTHS:
        cutter = _Cutter(length, page, {})
        kept = cutter.kept(document, "")
        answer = {**kept, "more": [each.model_dump() for each in cutter.lists.values() if each]}
        if page is not None and page.list not in cutter.lists:
            raise UsageError(f"the answer has no list {page.list}: take a page from `more` of the same answer")
        if len(json.dumps(answer)) <= MOST and (length or page is None):
            return answer
    raise UsageError(f"the answer has more than {MOST:,} characters: ask for one group, one topic or a shorter time")


class _Cutter(NamedTuple):
    """Keeps so many elements of each list, or the page. `lists`: by path of a list that was met what it leaves out."""

    length: int
    page: Page | None
    lists: dict[str, Page | None]

    def kept(self, value: Any, path: str) -> Any:
        """The value at the path, without what is left out."""
        if isinstance(value, dict):
            return {name: self.kept(each, f"{path}.{name}".lstrip(".")) for name, each in value.items()}
        if not isinstance(value, list):
            return value
        wanted, total = self._wanted(len(value), path), len(value)
        end = wanted[-1] + 1 if wanted else 0
        is_parent = self.page is not None and self.page.list.startswith(f"{path}[")
        self.lists[path] = None if is_parent or end == total else Page(list=path, offset=end, total=total)
        return [self.kept(value[place], f"{path}[{place}]") for place in wanted]

    def _wanted(self, total: int, path: str) -> Sequence[int]:
        """The indexes of the elements that stay."""
        if self.page is None or path.startswith(f"{self.page.list}["):
            return range(min(self.length, total))
        if path == self.page.list:
            return range(min(self.page.offset, total), min(self.page.offset + self.length, total))
        return [place for place in range(total) if self.page.list.startswith(f"{path}[{place}]")]
