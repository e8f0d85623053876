"""The time lines of brokers that disagree about a group's members."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from spark_jobs.domain.audited_step import ALL_HOSTS, AuditedStep, RebalanceInterval


def split_views(step: AuditedStep) -> Iterator[list[RebalanceInterval]]:
    """The replayed intervals of single brokers that begin together, by their view; of ordinary topics."""
    split = [one for one in step.replayed if one.view != ALL_HOSTS and one.is_ordinary]
    for _, together in groupby(split, key=lambda one: (one.topic, one.start)):
        yield sorted(together, key=lambda one: one.view)
