"""Every group checked, and every step of it evaluated by the kernel, in one Arrow function."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from expectations.rows import CheckSettings, Numbers
from schemas import QUARANTINE, REBALANCE_INTERVALS, Table
from spark_jobs.config import Configuration, audit_settings, strategy_settings
from spark_jobs.domain.evaluate import evaluate
from spark_jobs.domain.model.history import GroupHistory
from spark_jobs.domain.model.window import to_micros
from spark_jobs.pipeline.exchange import RESULTS, STEP_KEY, own_columns
from spark_jobs.pipeline.gather.checked import Checked, checked
from spark_jobs.pipeline.gather.gather import Gathered, over_groups
from spark_jobs.pipeline.gather.histories import histories
from spark_jobs.pipeline.publish.rows import results, seen, tables, tables_of
from spark_jobs.pipeline.quality.facts import facts_of_outputs
from spark_jobs.pipeline.run_spec import RunSpec
from spark_jobs.store.spark_types import struct_type, union_of
from spark_jobs.what_if.answer import advice_in_numbers

#: Columns of published rows: whether their group was last published for one topic only, or without its coverage.
IN_PART, WITHOUT_COVERAGE = "in_part", "without_coverage"
_RESULTS = struct_type(RESULTS)


def evaluated_steps(gathered: Gathered, spec: RunSpec, configuration: Configuration) -> DataFrame:
    """`exchange.RESULTS`: the rows that the run publishes, and what their checks and those of the snapshots say."""
    evaluate_group = partial(_evaluated, spec=spec, configuration=configuration)

    # A function of its own: Spark looks at the parameters of what it is given.
    def evaluated(states: pa.Table, samples: pa.Table) -> pa.Table:
        with _without_collecting():
            return evaluate_group(states, samples)

    return over_groups(gathered, evaluated, _RESULTS)


def unpacked(packed: DataFrame, table: Table) -> DataFrame:
    """The rows of one output table, of `exchange.RESULTS`."""
    return packed.where(F.col(table.name).isNotNull()).select(*STEP_KEY, f"{table.name}.*").select(*table.columns)


def rejected(packed: DataFrame) -> DataFrame:
    """The rows of `quarantine`, without their run."""
    return packed.where(F.col(QUARANTINE.name).isNotNull()).select(f"{QUARANTINE.name}.*")


def checked_snapshots(gathered: Gathered, settings: CheckSettings) -> DataFrame:
    """`exchange.RESULTS` with what the checks of the snapshots counted; nothing is evaluated."""

    def checked_part(states: pa.Table, samples: pa.Table) -> pa.Table:
        return results(facts=checked(states, samples, settings).facts)

    return over_groups(gathered, checked_part, _RESULTS)


def checked_outputs(outputs: Mapping[Table, DataFrame], settings: CheckSettings) -> DataFrame:
    """`exchange.RESULTS` with what is counted of published rows, which have the columns `IN_PART` and
    `WITHOUT_COVERAGE`.
    """

    def checked_part(rows: pa.Table) -> pa.Table:
        in_part, without_coverage = (rows[name][0].as_py() for name in (IN_PART, WITHOUT_COVERAGE))
        has_coverage = not (in_part or without_coverage)
        of_group = replace(settings, whole_groups=not in_part, has_coverage=has_coverage)
        return results(facts=facts_of_outputs(tables_of(rows), of_group))

    every = (
        frame.select(*STEP_KEY, IN_PART, WITHOUT_COVERAGE, F.struct(*own_columns(table)).alias(table.name))
        for table, frame in outputs.items()
    )
    return union_of(every).groupBy(*STEP_KEY).applyInArrow(checked_part, _RESULTS)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """A time in which Python does not look for cycles: few values are in one, and the search looks at all values."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _evaluated(states: pa.Table, samples: pa.Table, *, spec: RunSpec, configuration: Configuration) -> pa.Table:
    """`exchange.RESULTS` of some groups, checked before and after they are evaluated, and of some topics."""
    settings = spec.check_settings(configuration)
    usable = checked(states, samples, settings)
    start, end = to_micros(spec.interval.start), to_micros(spec.interval.end)
    evaluated = [
        step
        for history in histories(usable.states, usable.samples)
        if _is_asked(spec, history)
        for step in evaluate(
            replace(history, rejected=_rejected_at(usable, history)),
            strategy_settings(configuration, history.cluster, history.consumer_group),
            audit_settings(configuration, history.cluster, history.consumer_group),
            start,
            end,
            advice_in_numbers,
        )
    ]
    written = tables(evaluated, spec.topic)
    facts = [*usable.facts, *facts_of_outputs(written, settings)]
    return results(written, facts, usable.rejected, [seen(written[REBALANCE_INTERVALS.name])])


def _rejected_at(usable: Checked, history: GroupHistory) -> dict[str, Numbers]:
    """By source, when snapshots of the group, or of topics, were taken that are not used."""
    owners = (history.cluster, history.consumer_group), (history.cluster, None)
    return {table: at for (*owner, table), at in usable.rejected_at.items() if tuple(owner) in owners}


def _is_asked(spec: RunSpec, history: GroupHistory) -> bool:
    return spec.cluster in (None, history.cluster) and spec.consumer_group in (None, history.consumer_group)
