"""The files of a release: the sdist makes the same wheel, and the tools of those who publish find nothing wrong."""

import re
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.end_to_end.release.conftest import Built
from tests.end_to_end.release.environments import Environment, environment, must, uv

pytestmark = pytest.mark.release


def contents(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_the_sdist_makes_the_wheel_of_the_checkout(built: Built, source: Path, tmp_path: Path) -> None:
    """`make dist` makes the wheel from the sdist; here it is made of the checkout."""
    must(uv("build", "--wheel", "--out-dir", str(tmp_path), cwd=source))
    (direct,) = tmp_path.glob("*.whl")
    assert direct.name == built.wheel.name
    first, second = contents(direct), contents(built.wheel)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_no_test_and_nothing_of_a_build_is_released(built: Built) -> None:
    with tarfile.open(built.sdist) as opened:
        names = opened.getnames()
    top = {name.split("/")[1] for name in names if "/" in name}
    assert not top & {"tests", "benchmarks", "docs", "deploy", ".github", "build", "dist"}
    assert [name for name in [*names, *contents(built.wheel)] if re.search(r"\.pyc$|__pycache__|/tests?/", name)] == []


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = environment(tmp_path_factory.mktemp("checks"))
    made.install("twine==7.0.0", "check-wheel-contents==0.6.3", "pyroma==5.0.1")
    return made


def test_an_index_would_take_them(checks: Environment, built: Built) -> None:
    must(checks("twine", "check", "--strict", str(built.wheel), str(built.sdist)))
    must(checks("check-wheel-contents", str(built.wheel)))


def test_their_metadata_says_what_it_should(checks: Environment, built: Built) -> None:
    """It lacks what a project without a home cannot have: an address, and a page."""
    said = must(checks("pyroma", str(built.sdist)))
    assert re.findall(r"^Your .*?'?(author-email|url)'?", said, re.MULTILINE) == ["author-email", "url"]
