"""Folds incidents from the newest checkpoint on, and makes the next ones: no answer reads the whole history.

Days are folded one after the other, each from what the one before carries, so that memory does not grow with history.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from schemas import CHECKPOINTS, FINDINGS, GROUP_STATUS
from spark_jobs.domain.incidents.carried import CHANGEABLE, FOLD_VERSION, NOTHING_CARRIED, Carried
from spark_jobs.domain.incidents.fold import Fold, fold
from spark_jobs.domain.incidents.values import AuditedTime, Incident
from spark_jobs.domain.model.intervals import StepGrid
from spark_jobs.domain.model.window import from_micros, to_micros
from spark_jobs.domain.rules.catalog import RULES
from spark_jobs.show.coverage import cluster_spans, each_once, silent_in
from spark_jobs.show.rows import GROUP
from spark_jobs.store.arrow import arrow_schema
from spark_jobs.store.read.forgotten import forgotten_clusters
from spark_jobs.store.read.published import Checkpoint, PublishedTables, Scope, audited_groups
from spark_jobs.store.read.published_rows import published_findings
from spark_jobs.store.read.stored import Filter, rows, tuples

_STEP = (*GROUP, "step_start", "deleted_at", "deleted_topics")
_DAYS = StepGrid(timedelta(days=1))
#: Checkpoints of every day are kept for so long, as late data changes steps of the last days; older ones of the first
#: day of a month.
_KEPT = timedelta(days=8)
_CARRIED = TypeAdapter(Carried)


def fold_from(
    tables: PublishedTables,
    cluster: str | None,
    earlier: Carried = NOTHING_CARRIED,
    first: datetime | None = None,
    before: datetime | None = None,
) -> Fold:
    """The fold of the steps in `[first, before)` (None: no limit), or of those that follow what is `earlier`."""
    conditions = [] if before is None else [Filter("step_start", "<", before)]
    if earlier.before is not None:
        first = tables.grid.floor(from_micros(earlier.before - CHANGEABLE))
    if first is not None:
        conditions.append(Filter("step_start", ">=", first))
    whole = Scope(cluster=cluster)
    findings = published_findings(tables.read(FINDINGS, whole, None, conditions))
    steps = [*tuples(tables.read(GROUP_STATUS, whole, _STEP, conditions))]
    micros = {step: to_micros(step) for step in {step for _, _, step, *_ in steps}}
    audited = ((cluster, group, micros[step]) for cluster, group, step, *_ in steps)
    deletions = [
        (cluster, group, topic, to_micros(at))
        for cluster, group, _, deleted_at, topics in steps
        for topic, at in [(None, deleted_at), *((each["topic"], each["deleted_at"]) for each in topics or ())]
        if at is not None
    ]
    length = tables.grid.length // timedelta(microseconds=1)
    groups = {row[:2] for row in (*steps, *earlier.last_steps)}
    for name, at in forgotten_clusters(tables.stored).items():
        deletions += [(name, group, None, to_micros(at)) for of_cluster, group in groups if of_cluster == name]
    silent = silent_in(tables, cluster, first, before)
    return fold(findings, AuditedTime(audited, length, deletions, silent), RULES, earlier)


def checkpoint_at(tables: PublishedTables, moment: datetime | None = None) -> Checkpoint | None:
    """The newest checkpoint of this version of the fold, if a moment is given, of those that begin no later."""
    fitting = (each for each in tables.checkpoints if each.fold_version == FOLD_VERSION)
    return next((each for each in fitting if moment is None or each.before <= moment), None)


def carried_by(tables: PublishedTables, checkpoint: Checkpoint | None) -> Carried:
    """The incidents that the checkpoint carries; None: nothing."""
    if checkpoint is None:
        return NOTHING_CARRIED
    (text,) = tables.of_checkpoint("carried", checkpoint)
    return _CARRIED.validate_json(text.as_py())


def fold_days(
    tables: PublishedTables, checkpoint: Checkpoint | None
) -> tuple[list[Incident], Carried, dict[datetime, Carried]]:
    """Fold what the checkpoint carries and the steps since then (None: all steps). Return all incidents that these
    steps can change, what was carried, and the state at the end of each day that has ended since.
    """
    earlier = carried = carried_by(tables, checkpoint)
    over: list[Incident] = []
    states: dict[datetime, Carried] = {}
    for before in _ended_days(tables, checkpoint):
        part = fold_from(tables, None, carried, before=before)
        states[before] = carried = part.carried(to_micros(before))
        over += (incident for incident in part.incidents if incident.incident_id not in carried.incident_ids)
    return [*fold_from(tables, None, carried).incidents, *over], earlier, states


def _ended_days(tables: PublishedTables, checkpoint: Checkpoint | None) -> Iterator[datetime]:
    """The start of the first step of each later day, up to that of the newest audited step."""
    newest = max((group.last_step for group in tables.groups()), default=None)
    known = tables.first_step if checkpoint is None else checkpoint.before
    day = _DAYS.floor(known)
    while newest is not None and (day := day + _DAYS.length) <= newest:
        if (before := tables.grid.floor(day)) > known:
            yield before


def keep(tables: PublishedTables, checkpoint: Checkpoint | None, states: Mapping[datetime, Carried]) -> None:
    """Write the new checkpoints alongside the older ones, if they are young, or the first of their month. What is over
    in them must be in the table of incidents before, as nothing folds it again.
    """
    newest = max(states)

    def is_kept(before: datetime) -> bool:
        return before > newest - _KEPT or before.day == 1

    old = [each.before for each in tables.checkpoints if checkpoint and each.before <= checkpoint.before]
    kept = Filter("before", "IN", [*filter(is_kept, old)])
    stays = rows(tables.stored.read(CHECKPOINTS, CHECKPOINTS.columns, [kept])) if kept.value else []
    new = _rows(tables, checkpoint, {before: state for before, state in states.items() if is_kept(before)})
    tables.stored.replace(CHECKPOINTS, pa.Table.from_pylist([*stays, *new], arrow_schema(CHECKPOINTS)))


def _rows(
    tables: PublishedTables, checkpoint: Checkpoint | None, states: Mapping[datetime, Carried]
) -> Iterator[dict[str, Any]]:
    """The rows of new checkpoints after one."""
    groups, clusters = tables.group_spans(checkpoint), cluster_spans(tables, checkpoint)
    for before, state in states.items():  # each span is looked at once: a large history has millions
        is_earlier = pc.less(groups["last_step"], pa.scalar(before))
        earlier = [group._asdict() for group in audited_groups(groups.filter(is_earlier))]
        later = groups.filter(pc.invert(is_earlier))
        groups = pa.concat_tables([pa.Table.from_pylist(earlier, groups.schema), later])
        yield {
            "before": before,
            "step_seconds": int(tables.grid.length.total_seconds()),
            "fold_version": FOLD_VERSION,
            "run_finished_at": tables.finished_at,
            "group_status_version": tables.versions.get(GROUP_STATUS.name, -1),
            "audited_groups": earlier,
            "audited_clusters": [
                each._asdict() for each in each_once(each for each in clusters if each.last_step < before)
            ],
            "carried": _CARRIED.dump_json(state).decode(),
        }
