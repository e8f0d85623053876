"""Names and numbers in sentences."""

from __future__ import annotations

from spark_jobs.domain.phrases import names_text


def test_names_beyond_the_limit_are_counted() -> None:
    assert names_text(("a", "b"), 2) == "a, b"
    assert names_text(("a", "b", "c"), 2) == "a, b and 1 more"
    assert names_text([str(number) for number in range(1236)], 2) == "0, 1 and 1,234 more"
