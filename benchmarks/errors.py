"""The error of a benchmark that cannot measure something."""

from spark_jobs.errors import RebalanceAuditError


class NotMeasuredError(RebalanceAuditError):
    """Something that a measure needs is not there; the text says what. That is no miss."""
