"""What members subscribe, in a form that can be compared."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.domain.subscriptions import RETRY


def normal_subscriptions(subscriptions: Column) -> Column:
    """Sorted array<topic, expression> without retry topics; null, which is unknown, stays null.

    The expression is `domain.subscriptions.normal_expression`.
    """
    ordinary = F.filter(subscriptions, lambda one: ~one["topic"].startswith(RETRY))
    normal = F.transform(
        ordinary,
        lambda one: F.struct(
            one["topic"].alias("topic"),
            normal_expression(one["expression_type"], one["sub_string"]).alias("expression"),
        ),
    )
    return F.sort_array(F.array_distinct(normal))


def normal_expression(expression_type: Column, text: Column) -> Column:
    """Tags sorted and `*` for everything; other expressions with their type."""
    known_text = F.coalesce(text, F.lit(""))
    # Not the bare function: `transform` would give its second parameter, the characters to trim, the index.
    tags = F.transform(F.split(known_text, r"\|\|"), lambda tag: F.trim(tag))  # noqa: PLW0108
    sorted_tags = F.array_join(F.sort_array(F.array_distinct(F.filter(tags, lambda tag: tag != ""))), " || ")
    # Nearly all subscribe everything: that is not parted, trimmed and sorted.
    of_tags = F.when(known_text.isin("", "*") | (sorted_tags == ""), "*").otherwise(sorted_tags)
    is_of_tags = F.coalesce(expression_type, F.lit("TAG")) == "TAG"
    return F.when(is_of_tags, of_tags).otherwise(F.concat(expression_type, F.lit(" "), known_text))


def told(connections: Column, book: Column) -> Column:
    """array<client_id, subscriptions> of the connected clients that said what they subscribe; null: unobserved."""
    ids = F.array_distinct(connections["client_id"])
    said = F.transform(
        ids,
        lambda client_id: F.struct(
            client_id.alias("client_id"), F.try_element_at(book, client_id)["subscriptions"].alias("subscriptions")
        ),
    )
    return F.filter(said, lambda one: one["subscriptions"].isNotNull())


def differ(said: Column) -> Column:
    """Whether `told` members subscribe differently; null where nobody was observed."""
    return F.size(F.array_distinct(said["subscriptions"])) > 1
