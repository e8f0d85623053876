"""Clusters of which nothing is expected any more, since `maintain --forget-cluster` retired them."""

from collections.abc import Callable
from datetime import datetime

from schemas import GROUP_STATUS
from spark_jobs.domain.model.intervals import parse_utc
from spark_jobs.store.read.published import Scope
from spark_jobs.store.read.stored import StoredTables

#: Begins the property of `group_status` that has the time; the name of the cluster follows in hexadecimal, as Spark
#: shows no property with a word such as "token" in it.
_PROPERTY = "rebalance_audit.forgotten."


def property_of(cluster: str) -> str:
    """The name of the property that has the time since when the cluster is forgotten."""
    return _PROPERTY + cluster.encode().hex()


def forgotten_clusters(stored: StoredTables) -> dict[str, datetime]:
    """By cluster since when it is forgotten (UTC). Raises as `StoredTables.read`."""
    if not stored.exists(GROUP_STATUS):
        return {}
    return {
        bytes.fromhex(name.removeprefix(_PROPERTY)).decode(): parse_utc(text)
        for name, text in stored.properties(GROUP_STATUS).items()
        if name.startswith(_PROPERTY)
    }


def expectation(stored: StoredTables, scope: Scope) -> Callable[[str, datetime], bool]:
    """Return a test of a cluster and its last time: False if the cluster was forgotten since. A question that names
    something is about what was published.
    """
    forgotten = {} if scope.names else forgotten_clusters(stored)
    return lambda cluster, last: cluster not in forgotten or last >= forgotten[cluster]
