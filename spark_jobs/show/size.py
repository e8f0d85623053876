"""How many members groups need, and whether enough of them was recorded to know it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from operator import itemgetter

from schemas import GROUP_STATUS
from spark_jobs.domain.model.grouped import by_key
from spark_jobs.domain.model.intervals import Interval
from spark_jobs.domain.model.severities import INFO
from spark_jobs.domain.model.window import to_micros
from spark_jobs.domain.rules import unobserved
from spark_jobs.show.coverage import observed_parts
from spark_jobs.show.incidents import IncidentQuery, published_incidents
from spark_jobs.show.rows import GROUP
from spark_jobs.show.what_if import GroupSteps, Say, group_steps, known
from spark_jobs.store.read.published import PublishedTables, Scope, check_names, published_tables
from spark_jobs.store.read.stored import StoredTables, tuples
from spark_jobs.what_if.fleet_size import (
    FleetNeed,
    PublishedStep,
    SizeVerdict,
    fleet_need,
    why_no_verdict,
)
from spark_jobs.what_if.size import Goals, Size, refuted, size


def sized(stored: StoredTables, scope: Scope, goals: Goals, load: float, say: Say) -> tuple[GroupSteps, Size]:
    """How many members the group would have needed, with `load` times the messages; raises as `what_if`."""
    group = group_steps(stored, scope, say)
    say("trying group sizes")
    group, needed = known(group, size(group.steps, goals, load, group.configured))
    tables, names = published_tables(stored), Scope(group.interval, group.cluster, group.consumer_group)
    share = observed_parts(tables, group.interval, names).get((group.cluster, group.consumer_group), 0.0)
    open_rules = _open_rules(tables, names, group.interval)[group.cluster, group.consumer_group]
    reason = why_no_verdict(share, open_rules) or refuted(group.steps, needed, load, group.configured)
    return group, replace(needed, observed_share=share, reason=reason)


def fleet_needs(
    stored: StoredTables, scope: Scope, wanted: float, load: float, spare: int, say: Say
) -> tuple[Interval, list[tuple[str, str, FleetNeed]]]:
    """(cluster, group, need) of all groups, or of a cluster's, worst verdict first. Raises `NothingPublishedError`."""
    say("reading how busy the groups were")
    tables = published_tables(stored)
    interval = tables.steps(scope.interval or tables.last(tables.grid.length))
    names = replace(scope, interval=interval)
    check_names(tables, names)
    published = tables.read(GROUP_STATUS, names, [*GROUP, *PublishedStep._fields])
    shares, open_rules = observed_parts(tables, interval, names), _open_rules(tables, names, interval)
    needs = []
    for group, rows in by_key(tuples(published), itemgetter(0, 1)).items():
        share = shares.get(group, 0.0)
        need = fleet_need([PublishedStep(*step) for _, _, *step in rows], wanted, load, spare)
        if reason := why_no_verdict(share, open_rules[group]):
            need = need._replace(verdict=SizeVerdict.UNKNOWN, needed=None, reason=reason)
        needs.append((*group, need._replace(observed_share=share)))
    order = list(SizeVerdict)
    return interval, sorted(needs, key=lambda need: (order.index(need[2].verdict), -(need[2].busiest or 0), *need[:2]))


def _open_rules(tables: PublishedTables, names: Scope, interval: Interval) -> Mapping[tuple[str, str], set[str]]:
    """By group the rules of its incidents above INFO that are open at the end of the interval. How much was observed
    is known otherwise.
    """
    end = to_micros(interval.end)
    rules = defaultdict[tuple[str, str], set[str]](set)
    for incident in published_incidents(tables, IncidentQuery(interval, names.cluster, names.consumer_group)):
        is_wrong = incident.severity != INFO and incident.rule != unobserved.RULE.name
        if is_wrong and (incident.resolved_at is None or incident.resolved_at > end):
            for consumer_group in incident.consumer_groups:
                rules[incident.cluster, consumer_group].add(incident.rule)
    return rules
