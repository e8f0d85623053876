"""Metrics asked for by HTTP, while runs publish. No Spark."""

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from queue import Queue
from urllib.request import urlopen

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from schemas import AUDIT_RUNS
from spark_jobs.show.metrics import recorder_registry
from spark_jobs.show.metrics_server import ServedMetrics, serve
from tests.support.commands import Typed
from tests.support.published import publish_hours

STEP_END, READ_AT = "rebalance_audit_step_end_timestamp_seconds", "rebalance_audit_metrics_read_timestamp_seconds"
AGE = "rebalance_audit_capture_unloaded_seconds"
#: 2026-03-01T11:00Z, the end of the first step.
FIRST_END = 1772362800


def metrics_at(url: str) -> dict[str, float]:
    """The first value of each metric."""
    with urlopen(url, timeout=10) as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {family.name: family.samples[0].value for family in families if family.samples}


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_process_serves_the_newest_step_until_sigterm(tmp_path: Path) -> None:
    """Before and after a run publishes; then the runs cannot be read, and then they can."""
    warehouse, errors = tmp_path / "warehouse", tmp_path / "errors"
    publish_hours(warehouse, [0], offline=[0])
    command = [sys.executable, "-m", "spark_jobs.cli", "metrics", "--warehouse", str(warehouse)]
    with (
        errors.open("w") as stderr,
        subprocess.Popen(
            [*command, "--serve", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            wait_until(lambda: metrics_at(url).get(STEP_END) == FIRST_END)
            publish_hours(warehouse, [1])
            wait_until(lambda: metrics_at(url)[STEP_END] == FIRST_END + 3600)
            (warehouse / AUDIT_RUNS.name).rename(tmp_path / "runs")
            wait_until(lambda: "the metrics stay as they were read last" in errors.read_text())
            before = metrics_at(url)
            time.sleep(6)
            assert metrics_at(url) == before
            (tmp_path / "runs").rename(warehouse / AUDIT_RUNS.name)
            wait_until(lambda: metrics_at(url)[READ_AT] > before[READ_AT])
            assert errors.read_text().count("the metrics stay") == 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_the_last_answer_is_served_while_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.show.metrics_server._PAUSE", 0.05)
    versions, registries, is_reading = chain([1], repeat(2)), Queue[CollectorRegistry](), threading.Event()

    def read() -> CollectorRegistry:
        if registries.empty():
            is_reading.set()
        return registries.get()

    stopped, port = threading.Event(), Queue[int]()
    registries.put(recorder_registry(1.0))
    metrics = ServedMetrics(read, lambda: next(versions))
    serving = threading.Thread(target=serve, args=(metrics, "127.0.0.1", 0, stopped, port.put))
    serving.start()
    url = f"http://127.0.0.1:{port.get()}/metrics"
    assert is_reading.wait(60)
    assert metrics_at(url)[AGE] == 1
    registries.put(recorder_registry(2.0))
    wait_until(lambda: metrics_at(url)[AGE] == 2)
    stopped.set()
    serving.join()


def test_without_a_new_run_metrics_are_read_again_after_five_minutes() -> None:
    ages = iter([1.0, 2.0])
    metrics = ServedMetrics(lambda: recorder_registry(next(ages)), lambda: 7)

    def answer() -> dict[str, float]:
        return {metric.name: metric.samples[0].value for metric in metrics.collect()}

    for now, age in ((1000.0, 1), (1299.0, 1), (1300.0, 2), (1599.0, 2)):
        metrics.refresh(now)
        assert answer() == {AGE: age, READ_AT: now}


def test_an_address_that_is_none_or_taken_is_said(tmp_path: Path, typed: Typed) -> None:
    assert (
        "'9108' is not an address: write it as :9108" in typed("metrics --serve 9108", warehouse=tmp_path, code=3).err
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        printed = typed(f"metrics --serve 127.0.0.1:{port}", warehouse=tmp_path, code=3)
    assert f"cannot serve at 127.0.0.1:{port}: Address already in use. Choose another address" in printed.err
    printed = typed("metrics --serve :0 --textfile a.prom", warehouse=tmp_path, code=3)
    assert "metrics takes only one of --textfile, --serve and --otlp" in printed.err
