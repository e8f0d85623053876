"""The distributions, built and installed once, and the warehouse that all tests read."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.release.environments import Environment, clean_copy, environment, must, uv

#: That of the demo's recording.
HOUR = "2026-11-21T02:00/2026-11-21T03:00"


@dataclass(frozen=True)
class Built:
    """The files of a release."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clean_copy(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="session")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """As `make dist` builds them: the wheel from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    must(uv("build", "--out-dir", str(folder), cwd=source))
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="session", params=["3.11", "3.12", "3.13"])
def base(request: pytest.FixtureRequest, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Without any extra; skips what uv neither finds nor can fetch."""
    own = request.param == "{}.{}".format(*sys.version_info)
    try:
        made = environment(tmp_path_factory.mktemp("base"), sys.executable if own else request.param)
    except LookupError as error:
        pytest.skip(f"there is no Python {request.param}: {str(error).strip().splitlines()[-1]}")
    made.install(str(built.wheel))
    return made


@pytest.fixture(scope="session")
def with_spark(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """With `[spark,report]`, after `rebalance-audit setup`."""
    made = environment(tmp_path_factory.mktemp("spark"))
    made.install(f"{built.wheel}[spark,report]")
    must(made("rebalance-audit", "setup"))
    return made


@pytest.fixture(scope="session")
def warehouse(with_spark: Environment) -> Path:
    """That of the demo, made with the wheel."""
    must(with_spark("rebalance-audit", "demo"))
    return with_spark.here / "warehouse"
