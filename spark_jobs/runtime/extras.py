"""Packages that only an extra of the wheel installs."""

from spark_jobs.errors import SetupError
from spark_jobs.installation import documentation

#: By the first part of a module's name, or by the package whose metadata is missing.
_EXTRAS = {
    "pyspark": "spark",
    "delta": "spark",
    "delta-spark": "spark",
    "great_expectations": "spark",
    "pandas": "spark",
    "obstore": "s3",
    "bokeh": "report",
    "jinja2": "report",
    "apprise": "notify",
    "py4j": "capture",
}


def needed_extra(error: ImportError) -> SetupError | None:
    """Return what to type so that the import works; None where no extra brings it: that is a bug."""
    package = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(package)
    if extra is None:
        return None
    return SetupError(
        f"this needs {package}, which is not installed: install rebalance-audit with its extra [{extra}] "
        f"({documentation('install')})"
    )
