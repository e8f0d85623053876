"""Is a step like the same hour of the days before? Row counts and null rates against their median and its deviation."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from schemas import QUALITY_RESULTS
from spark_jobs.config.model import Quality
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.store.read.stored import Filter, StoredTables, tuples

ROWS_ARE_USUAL, NULLS_ARE_USUAL = "row_count_is_usual", "null_percent_is_usual"
#: Days that must be known before anything can be unusual.
_FEWEST_DAYS = 5


class Subject(NamedTuple):
    """Subject of a comparison: a table's rows, or the nulls of one of its columns."""

    table_name: str
    column_name: str | None


#: Lowest and highest usual value per subject and step.
Usual = Mapping[Subject, Mapping[datetime, tuple[float, float]]]


def usual_values(tables: StoredTables, interval: Interval, quality: Quality) -> Usual:
    """By subject and step of the interval, where enough days are known: the median ± so many times the median absolute
    deviation (scaled to a standard deviation), and never closer than a tenth of the median. Empty at first.
    """
    if not tables.exists(QUALITY_RESULTS):
        return {}
    days: dict[tuple[Subject, datetime], list[float]] = defaultdict(list)
    for (subject, step), value in _newest_values(tables, interval, quality).items():
        for day in range(1, quality.usual_days + 1):
            later = step + timedelta(days=day)
            if interval.start <= later < interval.end:
                days[subject, later].append(value)
    usual: dict[Subject, dict[datetime, tuple[float, float]]] = defaultdict(dict)
    for (subject, step), values in days.items():
        if len(values) >= _FEWEST_DAYS:
            usual[subject][step] = _around(values, quality.usual_deviations)
    return usual


def _newest_values(tables: StoredTables, interval: Interval, quality: Quality) -> dict[tuple[Subject, datetime], float]:
    """The last observed value of each subject in each step of the interval and of the days before."""
    conditions = [
        Filter("expectation", "IN", (ROWS_ARE_USUAL, NULLS_ARE_USUAL)),
        Filter("step_start", ">=", interval.start - timedelta(days=quality.usual_days)),
        Filter("step_start", "<", interval.end),
    ]
    columns = ("checked_at", "step_start", "table_name", "column_name", "observed_value")
    oldest_first = sorted(tuples(tables.read(QUALITY_RESULTS, columns, conditions)), key=itemgetter(0))
    return {(Subject(table, column), step): value for _, step, table, column, value in oldest_first}


def _around(values: Sequence[float], deviations: float) -> tuple[float, float]:
    middle = median(values)
    width = max(deviations * 1.4826 * median(abs(value - middle) for value in values), abs(middle) / 10)
    return middle - width, middle + width
