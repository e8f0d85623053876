"""Every error a user can meet: one base with an exit code, one leaf per cause, caught once in `cli.main`."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code of a process; docs/cli.md says when."""

    CLEAN = 0
    FINDINGS = 1
    WARNINGS = 2
    USAGE = 3
    NOT_PUBLISHED = 4


class RebalanceAuditError(Exception):
    """Base of all errors whose text is written for the user: what is wrong, where, and what to do."""

    exit_code: ExitCode = ExitCode.USAGE


class IncompleteError(RebalanceAuditError):
    """Base of the errors that leave results unpublished, unsent or unwritten."""

    exit_code = ExitCode.NOT_PUBLISHED


class UsageError(RebalanceAuditError):
    """A command or an option that does not exist, or that needs another one."""


class IntervalError(RebalanceAuditError):
    """An interval that is empty, reversed, unreadable, or off the grid of audit steps."""


class ConfigurationError(RebalanceAuditError):
    """A configuration file with an unknown key, a wrong type, or a value that makes no sense."""


class StrategyError(RebalanceAuditError):
    """Settings with which no RocketMQ client could start, such as a negative virtual node count."""


class CaseError(RebalanceAuditError):
    """A case of `what-if` that cannot be read."""


class OutputError(RebalanceAuditError):
    """An answer that cannot be written where it was asked for."""


class WarehouseError(RebalanceAuditError):
    """A warehouse, schema or table that is missing or cannot be opened."""


class NothingPublishedError(RebalanceAuditError):
    """A warehouse, group or time of which no run has published anything."""


class UnknownNameError(RebalanceAuditError):
    """A cluster, group or topic that no snapshot names."""


class SchemaMismatchError(RebalanceAuditError):
    """A table whose columns are not those of its module in `schemas`; the text lists every difference."""


class InputFileError(RebalanceAuditError):
    """A recording that cannot be opened or decompressed."""


class CaptureError(RebalanceAuditError):
    """A cluster that cannot be asked, or a recording that cannot be begun."""


class SecretFileError(RebalanceAuditError):
    """A file with a secret that other users can read, or that cannot be read."""


class NoticeTargetError(RebalanceAuditError):
    """The target of notifications is missing or cannot be read."""


class SetupError(RebalanceAuditError):
    """Java, Python or Delta's jars are missing or of the wrong version."""


class UnexpectedError(IncompleteError):
    """A fault of Spark, Java or the machine, or a bug, unless it `is_explained`; `__cause__` is what was raised."""

    is_explained = False


class PublishConflictError(IncompleteError):
    """Another run is publishing the same steps of the same warehouse."""


class PublishError(IncompleteError):
    """The audit is done, but its results could not be published."""


class NotLoadedError(IncompleteError):
    """Recorded files that could not be loaded into the warehouse; they are kept."""


class QualityError(RebalanceAuditError):
    """A critical expectation failed: nothing of the run was published."""

    exit_code = ExitCode.FINDINGS


class QualitySiteError(IncompleteError):
    """The results and pages of the data-quality checks cannot be written."""


class NotDeliveredError(IncompleteError):
    """Notifications, which are not recorded as sent, or metrics could not be sent: the next call tries again."""


class ReportFileError(IncompleteError):
    """A page or metrics cannot be written where they should be."""
