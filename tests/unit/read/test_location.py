"""The folder of a warehouse is the one that its text names, for every reader."""

from pathlib import Path

import pytest

from schemas import AUDIT_RUNS
from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from tests.support.stored import audit_run, write
from tests.support.times import HOUR


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/data/a#b?c;d/audit", "/data/a#b?c;d/audit"),
        ("/data/50%/audit/", "/data/50%/audit"),
        ("file:/data/audit", "/data/audit"),
        ("file:///data/my%20audit/", "/data/my audit"),
        ("file://localhost/data/audit", "/data/audit"),
        ("FILE:///data/a%23b%3Bc", "/data/a#b;c"),
        ("file:/data/a#b", "/data/a#b"),
        ("s3a://bucket/audit", None),
        ("hdfs://host:9000/audit", None),
        ("abfss://container@account.dfs.core.windows.net/audit", None),
    ],
)
def test_a_path_is_taken_literally_and_a_file_uri_is_decoded(text: str, path: str | None) -> None:
    location = Location.parse(text)
    assert location.local_path == (None if path is None else Path(path))
    assert Location.parse(location.location) == location, "a command that is printed has the location in it"


@pytest.mark.parametrize("text", ["/data/my%20audit", "/data/a[1]", "/data/a|b", "/data/a\nb", "file:///data/a%2520b"])
def test_a_path_that_readers_do_not_agree_on_is_refused(text: str) -> None:
    with pytest.raises(WarehouseError, match="not every reader of Delta tables takes literally: choose a path without"):
        Location.parse(text)


@pytest.mark.parametrize("text", ["s3a://bucket/a#b", "gs://bucket/a?b", "s3://bucket/a%20b"])
def test_a_uri_that_readers_do_not_agree_on_is_refused(text: str) -> None:
    with pytest.raises(WarehouseError, match=r"and a URI without \? and #"):
        Location.parse(text)


@pytest.mark.parametrize("text", ["file://host/data/audit", "file:data/audit", "file://"])
def test_a_file_uri_of_another_host_is_refused(text: str) -> None:
    with pytest.raises(WarehouseError, match="is no absolute path on this host: write it as file:///data/audit"):
        Location.parse(text)


def test_credentials_with_any_character_are_not_repeated() -> None:
    with pytest.raises(WarehouseError, match="has credentials in it") as raised:
        Location.parse("s3a://AKIA:hu#s?h@bucket/audit")
    assert "hu#s" not in str(raised.value)


@pytest.mark.parametrize("name", ["a#b", "a?b", "a;b", "a%b", "a*{b}", "a b'`"])
def test_tables_are_read_in_the_folder_that_is_named(name: str, tmp_path: Path) -> None:
    folder = tmp_path / name
    write(folder, AUDIT_RUNS, [audit_run(HOUR, {})])
    for text in (str(folder), folder.as_uri()):
        assert len(DeltaTables(Location.parse(text)).read(AUDIT_RUNS, ["run_id"])) == 1
