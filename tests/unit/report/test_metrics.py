"""An incident of several groups, of which one is asked for."""

from __future__ import annotations

from spark_jobs.show.metrics import registry
from tests.unit.test_incidents import incident
from tests.unit.test_status import NEW, group


def test_an_incident_of_several_groups_is_one_and_is_counted_for_those_asked_for() -> None:
    shared = incident(consumer_groups=("g", "h"), resolved_at=None)
    groups = [group("g", step_end=NEW, observed=None)]
    found = {
        family.name.removeprefix("rebalance_audit_"): {
            tuple(sample.labels.values()): sample.value for sample in family.samples if sample.value
        }
        for family in registry(groups, [shared, incident(resolved_at=None)]).collect()
    }
    assert found["open_incidents"] == {("eu", "GROUP_OFFLINE", "ERROR"): 2}
    assert found["open_incident_groups"] == {("eu", "GROUP_OFFLINE", "ERROR"): 2}
    assert found["group_open_incidents"] == {("eu", "g", "GROUP_OFFLINE", "ERROR", ""): 2}
    assert found["observed_ratio"] == {}
