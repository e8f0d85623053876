"""Laws of the coverage: a violation is a bug of the audit."""

from expectations.common import each, known_value
from expectations.rows import Rows, Values, all_of
from expectations.suite import Expectation, Suite
from schemas import COVERAGE
from spark_jobs.domain.kernel.coverage import MEMBERSHIPS, OFFSETS, ROUTES, Lack

_SECONDS = (
    *("expected_seconds", "observed_seconds", "members_seconds", "routes_seconds", "offsets_seconds"),
    "clients_seconds",
)


def _of_the_step(rows: Rows) -> Values:
    end = rows["step_start"] + rows.settings.step
    return ((rows["first_snapshot_at"] >= rows["step_start"]) & (rows["last_snapshot_at"] < end)).or_else(True)


def _in_order(rows: Rows) -> Values:
    return (rows["started_at"] < rows["ended_at"]).or_else(False)


SUITE = Suite(
    COVERAGE,
    expectations=(
        Expectation(
            "seconds_are_of_the_step",
            "What was observed is between nothing and the whole step.",
            lambda rows: all_of(rows[name].between(0.0, rows.settings.step.total_seconds()) for name in _SECONDS),
        ),
        Expectation(
            "observed_is_expected",
            "Not more is observed than was to be expected.",
            lambda rows: rows["observed_seconds"] <= rows["expected_seconds"],
        ),
        Expectation("snapshots_are_of_the_step", "First and last snapshot are of the step.", _of_the_step),
        each("missing_begins_before_it_ends", "Every time without snapshots has a length.", "missing", _in_order),
        each(
            "missing_has_a_reason",
            "Every time without snapshots names its source and why.",
            "missing",
            lambda rows: all_of(
                (known_value("source", (MEMBERSHIPS, ROUTES, OFFSETS))(rows), known_value("reason", Lack)(rows))
            ).or_else(False),
        ),
    ),
)
