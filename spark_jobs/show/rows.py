"""Rows of published tables, and their keys."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.store.arrow import one_array

#: A row of a published table, or one derived from it, by column.
Row = Mapping[str, Any]
#: The values of some columns of a row.
Key = tuple[Any, ...]

GROUP = ("cluster", "consumer_group")
TOPIC = (*GROUP, "topic")
QUEUE = (*TOPIC, "broker_name", "queue_id")
#: The cluster and the consumer group of a row.
group_of = itemgetter(*GROUP)


def by_topic(rows: pa.Table, time: str) -> Iterator[tuple[Key, pa.Table]]:
    """The rows of each (cluster, group, topic), in the order of the column `time`."""
    in_order = rows.sort_by([(name, "ascending") for name in (*TOPIC, time)])
    if not len(in_order):
        return
    is_first = np.zeros(len(in_order), bool)
    is_first[0] = True
    for name in TOPIC:
        column = one_array(in_order[name])
        is_first[1:] |= pc.not_equal(column[1:], column[:-1]).to_numpy(zero_copy_only=False)
    for start, end in pairwise([*np.flatnonzero(is_first).tolist(), len(in_order)]):
        yield tuple(in_order[name][start].as_py() for name in TOPIC), in_order.slice(start, end - start)
