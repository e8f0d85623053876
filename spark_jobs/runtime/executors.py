"""Modules that the driver ships to executors, for the Arrow function of `pipeline/gather/evaluated.py`."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from pyspark.sql import SparkSession

from spark_jobs.installation import PREFIX, ROOT
from spark_jobs.runtime.scratch import scratch_folder

#: Packages of this project that a Python worker imports.
_PACKAGES = tuple(ROOT / name for name in ("spark_jobs", "schemas", "expectations"))
ZIP_NAME = "rebalance-audit-modules.zip"


def ship_modules(spark: SparkSession, *, also_local: bool = False) -> None:
    """Give executors this process's version of the project. A local master's workers need nothing, unless another
    process started it (`also_local`); nor do executors if the driver runs from a zip of `--py-files`.
    """
    local = str(spark.sparkContext.master).partition("[")[0] == "local"
    if (also_local or not local) and all(package.is_dir() for package in _PACKAGES):
        spark.sparkContext.addPyFile(_zip())


@cache
def _zip() -> str:
    """Path of the zip, one per process; Spark serves it from there as long as the session lives."""
    file = scratch_folder() / ZIP_NAME
    write_modules(file)
    return str(file)


def write_modules(file: Path) -> None:
    """Write a zip of the modules; the same modules make the same bytes."""
    with ZipFile(file, "w") as archive:
        for name, module in sorted(_modules()):
            # 1980, the first year that a zip knows.
            archive.writestr(ZipInfo(name), module.read_bytes(), ZIP_DEFLATED)


def _modules() -> Iterator[tuple[str, Path]]:
    """Name in the zip and path of every module."""
    folder = PREFIX.replace(".", "/")
    if folder:
        yield f"{folder}__init__.py", ROOT / "__init__.py"
    for package in _PACKAGES:
        for module in package.rglob("*.py"):
            yield folder + module.relative_to(ROOT).as_posix(), module
