"""Packages of the project and of its image: licenses that allow their use, each on the page, and one lock."""

import re
from configparser import ConfigParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from spark_jobs.capture.jars import TOOLS_DIR
from spark_jobs.setup.jars import DELTA
from tests.unit.supply_chain.licences import CAPTURE_JARS, PAGE, ROOT, licence, page, pins

#: A package under another licence needs a thought, and then a line here.
ALLOWED = {
    *("MIT", "MIT-0", "MIT-CMU", "MIT AND PSF-2.0", "MPL-2.0 AND MIT", "MPL-2.0", "ISC", "PSF-2.0", "Unlicense"),
    *("Apache-2.0", "Apache 2.0", "Apache-2.0 OR MIT", "MIT OR Apache-2.0", "MIT -or- Apache License 2.0"),
    *("apache-2.0", "Apache-2.0 OR BSD-2-Clause", "Apache-2.0 OR BSD-3-Clause", "Apache-2.0 AND BSD-2-Clause"),
    *("BSD", "BSD-2-Clause", "BSD 2-Clause License", "BSD-3-Clause", "3-Clause BSD License", "ISC License"),
    "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
    "Artistic-1.0 OR GPL-2.0-or-later",
}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make licences`"


def test_every_licence_is_one_that_was_thought_of() -> None:
    assert {name: found for name, _ in pins() if (found := licence(name)) not in ALLOWED} == {}


@pytest.mark.skipif(not TOOLS_DIR.is_dir(), reason="RocketMQ's admin client is not installed")
def test_every_jar_of_the_admin_client_is_listed() -> None:
    jars = [path.name for path in TOOLS_DIR.glob("*.jar")]
    assert [name for name in jars if not name.startswith(tuple(CAPTURE_JARS))] == []


def locked(lock: Path) -> set[tuple[str, str, str]]:
    """(package, version, its hashes as the lock writes them); a package may have a version per Python."""
    text = lock.read_text(encoding="utf-8")
    packages = re.findall(r"^([\w.-]+)==([^\s;\\]+)(.*?)(?=^\S|\Z)", text, re.DOTALL | re.MULTILINE)
    return {(name, version, " ".join(sorted(re.findall(r"sha256:\w+", rest)))) for name, version, rest in packages}


def test_the_image_installs_what_was_tested_and_no_tool_of_development() -> None:
    image = locked(ROOT / "deploy" / "requirements.lock")
    names = {name for name, _, _ in image}
    assert {"pyspark", "delta-spark", "deltalake", "great-expectations", "obstore"} <= names
    assert not {"pytest", "mypy", "apache-airflow"} & names
    assert image <= locked(ROOT / "requirements.lock")


def test_no_host_of_a_registry_is_named() -> None:
    hosts = re.compile(r"repo1?\.maven|\bpypi\.org|pythonhosted")
    folders = ("spark_jobs", "rebalance_audit", "dags", "deploy", "docs", "examples", "benchmarks")
    files = [*(file for folder in folders for file in (ROOT / folder).rglob("*")), *ROOT.glob("*")]
    texts = {file: file.read_bytes().decode(errors="ignore") for file in files if file.is_file()}
    assert {str(file): found for file, text in texts.items() if (found := hosts.findall(text))} == {}


def wanted() -> list[Requirement]:
    """What setup.cfg requires, with all extras."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    options = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    return [Requirement(line) for line in re.findall(r"^[A-Za-z].*", "\n".join(options), re.MULTILINE)]


def test_the_lock_pins_everything_and_names_no_host() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    assert "://" not in lock
    assert len(pins()) == len(re.findall(r"^[\w.-]+\S*==", lock, re.MULTILINE)) > 100
    assert {requirement.name.lower() for requirement in wanted()} <= {name for name, _ in pins()}


def test_packages_are_wanted_in_ranges_and_the_lock_is_within_them() -> None:
    """Pins would keep the package out of an environment that is there already; Delta's version must have jars, too."""
    versions = dict(pins())
    assert [str(one) for one in wanted() if "==" in str(one.specifier)] == [f"delta-spark=={DELTA}"]
    assert [one for one in wanted() if versions[one.name.lower()] not in one.specifier] == []
