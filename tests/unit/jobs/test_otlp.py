"""Metrics sent by OTLP to an endpoint that reads them with OpenTelemetry's own classes. No Spark."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.commands import Typed
from tests.support.published import publish_hours


class Endpoint(HTTPServer):
    """Keeps the requests, and answers them with the status."""

    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[ExportMetricsServiceRequest] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/metrics"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        assert self.path == "/v1/metrics"
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append(ExportMetricsServiceRequest.FromString(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    publish_hours(tmp_path / "warehouse", [0], offline=[0], backlog_end=7)
    return tmp_path / "warehouse"


def test_an_endpoint_gets_every_metric_once(endpoint: Endpoint, warehouse: Path, typed: Typed) -> None:
    assert typed("metrics --otlp", endpoint.url, warehouse=warehouse).out == ""
    (request,) = endpoint.requests
    (of_resource,) = request.resource_metrics
    named = {each.key: each.value.string_value for each in of_resource.resource.attributes}
    assert named["service.name"] == "rebalance-audit"
    (of_scope,) = of_resource.scope_metrics
    sent = {
        (metric.name, frozenset((label.key, label.value.string_value) for label in point.attributes)): (
            point.as_int if point.HasField("as_int") else point.as_double
        )
        for metric in of_scope.metrics
        for point in metric.gauge.data_points
    }
    group = frozenset({("cluster", "c"), ("consumer_group", "G")})
    assert sent["rebalance_audit_step_end_timestamp_seconds", group] == 1772362800  # 2026-03-01T11:00Z
    assert sent["rebalance_audit_backlog_messages", group] == 7
    assert ("rebalance_audit_oldest_message_seconds", group) not in sent  # unknown
    text = typed("metrics", warehouse=warehouse).out
    written = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert sent == written


@pytest.mark.parametrize(("status", "why"), [(400, "code: 400, reason: Bad Request"), (503, "Service Unavailable")])
def test_an_endpoint_that_refuses_is_an_error(
    endpoint: Endpoint,
    warehouse: Path,
    typed: Typed,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    status: int,
    why: str,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "2")
    endpoint.status = status
    printed = typed("metrics --otlp", endpoint.url, warehouse=warehouse, code=4)
    assert f"{endpoint.url} did not take the metrics: the log above says why." in printed.err
    assert why in caplog.text


def test_an_endpoint_that_nothing_listens_at_is_an_error(
    warehouse: Path, typed: Typed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TIMEOUT", "2")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    printed = typed(f"metrics --otlp http://127.0.0.1:{port}/v1/metrics", warehouse=warehouse, code=4)
    assert "did not take the metrics: the log above says why. Check that a collector receives OTLP" in printed.err
    assert "Connection refused" in caplog.text
