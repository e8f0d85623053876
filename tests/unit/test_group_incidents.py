"""An incident of several groups, as each of them has it."""

from spark_jobs.show.status import in_group
from tests.support.times import micros
from tests.unit.test_incidents import PART, incident


def test_an_incident_is_as_bad_as_it_is_in_the_group_and_over_if_it_is_over_there() -> None:
    parts = (
        PART,
        PART._replace(severity="WARN", resolved_at=micros(30)),
        PART._replace(consumer_group="h", severity="WARN", resolved_at=micros(60)),
        PART._replace(consumer_group="h", severity="INFO", resolved_at=micros(40)),
        PART._replace(consumer_group="i", severity="INFO"),
    )
    lasting = incident(root_causes=parts[:1], symptoms=parts[1:], resolved_at=None)
    of_groups = {group: in_group(lasting, group) for group in "ghi"}
    assert {group: one and (one.severity, one.resolved_at) for group, one in of_groups.items()} == {
        "g": ("ERROR", None),
        "h": ("WARN", micros(60)),
        "i": None,
    }
    over = in_group(incident(root_causes=parts, symptoms=(), resolved_at=micros(90)), "g")
    assert over
    assert over.resolved_at == micros(90)
