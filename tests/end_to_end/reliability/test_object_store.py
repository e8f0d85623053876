"""A warehouse on S3, the whole way: one server (moto's), every command a process of its own."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import obstore
import pytest
from deltalake import DeltaTable
from obstore.store import from_url

from schemas import NOTICES, TABLES
from spark_jobs.errors import WarehouseError
from spark_jobs.store.location import Location
from spark_jobs.store.read.delta import DeltaTables
from spark_jobs.store.s3.objects import check_puts
from spark_jobs.store.s3.s3a import installed
from tests.end_to_end.reliability.s3_server import BUCKET, SECRET, s3_server
from tests.end_to_end.reliability.small import (
    AUDITED,
    WHOLE,
    Commands,
    late_and_shown,
    outcomes,
    published,
    steps,
    write_inputs,
)
from tests.support.published import publish_hours

pytestmark = pytest.mark.reliability


@pytest.fixture(scope="module", autouse=True)
def jars() -> None:
    if not installed():
        pytest.skip("S3A is not installed: rebalance-audit setup --s3")


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with s3_server() as given, pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        yield given


def test_a_warehouse_on_s3_has_the_rows_of_a_local_one_after_every_command(
    environment: dict[str, str], tmp_path: Path
) -> None:
    write_inputs(tmp_path)
    s3 = Commands(tmp_path, f"s3a://{BUCKET}/audit", environment)
    local = Commands(tmp_path, str(tmp_path / "local"), environment)
    for at in (local, s3):
        at("ingest", "first.jsonl")
    local("backfill", *WHOLE, codes=AUDITED)
    # Two processes at once, of different steps …
    for one in [s3.start("backfill", *some) for some in (steps(3, 4), steps(4, 5))]:
        code, printed = s3.end(one)
        assert code in AUDITED, printed
    assert outcomes(s3.warehouse) == ["published"] * 2
    assert published(s3.warehouse) == published(local.warehouse)
    # … and of the same ones: a step that another process has is refused.
    ended = [s3.end(one) for one in [s3.start("backfill", *WHOLE) for _ in range(2)]]
    assert {code for code, _ in ended} <= {*AUDITED, 4}, ended
    assert all("overlaps" in printed for code, printed in ended if code == 4), ended
    assert published(s3.warehouse) == published(local.warehouse)
    late_and_shown(s3, local, s3.warehouse)
    notify_once(s3, tmp_path)
    s3("maintain", "--verbose")
    assert published(s3.warehouse) == published(local.warehouse)
    names = [entry["path"] for page in obstore.list(from_url(s3.warehouse)) for entry in page]
    assert not [name for name in names if name.startswith(("_claims/", "_staging/"))]
    show_no_secret(s3, tmp_path)


class NoticeReceiver(BaseHTTPRequestHandler):
    """Takes notices."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


def notify_once(s3: Commands, folder: Path) -> None:
    """Two processes at once send the notices once, and write them down."""
    with HTTPServer(("127.0.0.1", 0), NoticeReceiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (folder / "target.url").touch(0o600)
        (folder / "target.url").write_text(f"json://127.0.0.1:{server.server_port}")
        for one in [s3.start("notify", "--to", "target.url") for _ in range(2)]:
            code, said = s3.end(one)
            assert code == 0, said
        server.shutdown()
    rows = DeltaTables(Location.parse(s3.warehouse)).read(NOTICES, ["incident_id", "event"]).to_pylist()
    assert rows
    assert len(rows) == len({tuple(row.values()) for row in rows})


def show_no_secret(s3: Commands, folder: Path) -> None:
    """Neither in what was printed, nor in any file, nor in any row."""
    store, tables = from_url(s3.warehouse), DeltaTables(Location.parse(s3.warehouse))
    for page in obstore.list(store):
        for entry in (entry for entry in page if entry["size"]):  # an empty object marks a folder
            assert SECRET.encode() not in bytes(obstore.get(store, entry["path"]).bytes()), entry["path"]
    for table in TABLES:
        if tables.exists(table):
            assert SECRET not in repr(tables.read(table, table.columns).to_pylist()), table.name
    assert SECRET not in (folder / "report.html").read_text()
    assert not [said for said in s3.printed if SECRET in said]


@pytest.mark.parametrize("options", [(), ("--busy",)])
def test_commits_of_two_processes_all_survive(options: tuple[str, ...]) -> None:
    with s3_server(*options) as environment:
        race(environment)


def race(environment: dict[str, str]) -> None:
    table, count = f"s3a://{BUCKET}/raced", 10

    def start(name: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.end_to_end.reliability.s3_commits", table, name, str(count)]
        return subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    racing = [start(name) for name in "ab"]
    for one in racing:
        assert one.stdout is not None
        while "ready" not in (line := one.stdout.readline()):
            assert line, one.wait()
    begun = time.monotonic()
    for one in racing:
        assert one.stdin is not None
        one.stdin.close()
    for one in racing:
        assert one.stdout is not None
        said = one.stdout.read()
        assert one.wait() == 0, said
        assert "== Physical Plan ==" in said
        assert SECRET not in said
    print(f"{2 * count} commits by two processes: {time.monotonic() - begun:.0f} s")
    opened = DeltaTable(table.replace("s3a", "s3"), storage_options=dict(environment))
    assert opened.version() == 2 * count - 1
    rows = opened.to_pyarrow_dataset().to_table().to_pylist()
    assert sorted((row["name"], row["number"]) for row in rows) == [(name, n) for name in "ab" for n in range(count)]


def test_readers_and_notices_need_no_java(environment: dict[str, str], tmp_path: Path) -> None:
    publish_hours(tmp_path / "w", range(3), offline=[1, 2])
    warehouse = f"s3a://{BUCKET}/read"
    for file in (path for path in (tmp_path / "w").rglob("*") if path.is_file()):
        obstore.put(from_url(warehouse), str(file.relative_to(tmp_path / "w")), file.read_bytes())
    s3 = Commands(tmp_path, warehouse, environment | {"JAVA_HOME": "/nowhere"})
    for command, part in (("status", "1 group;"), ("incidents", "GROUP_OFFLINE")):
        assert part in s3(command, codes=AUDITED)
    notify_once(s3, tmp_path)


def test_a_store_without_conditional_writes_is_refused(environment: dict[str, str]) -> None:
    with s3_server("--ignore-conditions") as other, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", other["AWS_ENDPOINT_URL"])
        with pytest.raises(WarehouseError, match="ignores conditional writes"):
            check_puts(Location.parse(f"s3a://{BUCKET}/w"))
    check_puts(Location.parse(f"s3a://{BUCKET}/w"))


def test_validate_says_whether_a_store_can_hold_a_warehouse(environment: dict[str, str]) -> None:
    """Without Java. Nothing is left in the bucket."""
    with s3_server("--ignore-conditions") as ignoring:
        can, cannot = f"Yes: s3a://{BUCKET}/new can hold a warehouse.", "ignores conditional writes (If-None-Match)"
        for server, code, sentence in ((environment, 0, can), (ignoring, 3, cannot)):
            ended = subprocess.run(
                [sys.executable, "-m", "spark_jobs.cli", "validate", "--store", f"s3a://{BUCKET}/new"],
                env=server | {"JAVA_HOME": "/nowhere"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert (ended.returncode, sentence in ended.stdout) == (code, True), ended.stdout
            assert SECRET not in ended.stdout
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ENDPOINT_URL", server["AWS_ENDPOINT_URL"])
                assert [*obstore.list(from_url(f"s3a://{BUCKET}/new"))] == []
