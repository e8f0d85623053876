"""A Spark-native audit of RocketMQ consumer load balancing.

    import rebalance_audit as ra

    warehouse = ra.open("s3://bucket/audit")
    warehouse.incidents(since="2026-03-01T10:00")

An installed wheel holds `spark_jobs`, `schemas`, `expectations`, `dags` and `examples` in this package; a checkout has
them alongside it. Spark's executors import this module too: nothing is imported before it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_jobs.api.warehouse import AuditedWarehouse
    from spark_jobs.api.warehouse import open_warehouse as open
    from spark_jobs.errors import (
        CaptureError,
        CaseError,
        ConfigurationError,
        IncompleteError,
        InputFileError,
        IntervalError,
        NotDeliveredError,
        NothingPublishedError,
        NoticeTargetError,
        NotLoadedError,
        OutputError,
        PublishConflictError,
        PublishError,
        QualityError,
        QualitySiteError,
        RebalanceAuditError,
        ReportFileError,
        SchemaMismatchError,
        SecretFileError,
        SetupError,
        StrategyError,
        UnexpectedError,
        UnknownNameError,
        UsageError,
        WarehouseError,
    )

    __version__: str

#: The API, and every error.
__all__ = [
    "AuditedWarehouse",
    "CaptureError",
    "CaseError",
    "ConfigurationError",
    "IncompleteError",
    "InputFileError",
    "IntervalError",
    "NotDeliveredError",
    "NotLoadedError",
    "NothingPublishedError",
    "NoticeTargetError",
    "OutputError",
    "PublishConflictError",
    "PublishError",
    "QualityError",
    "QualitySiteError",
    "RebalanceAuditError",
    "ReportFileError",
    "SchemaMismatchError",
    "SecretFileError",
    "SetupError",
    "StrategyError",
    "UnexpectedError",
    "UnknownNameError",
    "UsageError",
    "WarehouseError",
    "open",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


if not TYPE_CHECKING:  # else a type checker takes every name for one of the package

    def __getattr__(name: str) -> Any:
        """Values that `__all__` names, and the version."""
        if name == "__version__":
            from spark_jobs.installation import installed_version

            return installed_version()
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name.endswith("Error"):
            from spark_jobs import errors

            return getattr(errors, name)
        from spark_jobs.api import warehouse

        return {"open": warehouse.open_warehouse, "AuditedWarehouse": warehouse.AuditedWarehouse}[name]
