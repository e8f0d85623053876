"""What Java does with strings, as Columns."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F


def java_order(text: Column) -> Column:
    """A sort key that orders like `String.compareTo`: by UTF-16 code units, where Spark orders by UTF-8 bytes."""
    return F.encode(text, "UTF-16BE")


def sorted_by(array: Column, *, text: str, then: str) -> Column:
    """The structs of an array in Java's order of one of their fields, ties broken by another."""
    keyed = F.transform(
        array,
        lambda item: F.struct(java_order(item[text]).alias("order"), item[then].alias("then"), item.alias("item")),
    )
    return F.transform(F.sort_array(keyed), lambda entry: entry["item"])


def md5_hash(text: Column) -> Column:
    """First 4 bytes of the MD5 of the UTF-8 text, as an unsigned big-endian number (`ConsistentHashRouter.MD5Hash`)."""
    return F.conv(F.substring(F.md5(text.cast("binary")), 1, 8), 16, 10).cast("bigint")


def matches(text: Column, pattern: Column) -> Column:
    """Whether the pattern matches the whole text (`Matcher.matches`, Python's `re.fullmatch`)."""
    return F.rlike(text, F.concat(F.lit(r"\A(?:"), pattern, F.lit(r")\z")))
