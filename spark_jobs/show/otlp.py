"""Gauges as OTLP, by the OpenTelemetry library."""

import time

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family

from spark_jobs.errors import NotDeliveredError

_NAME = "rebalance-audit"


def send_otlp(gauges: CollectorRegistry, url: str) -> None:
    """Send all gauges to the endpoint once. Headers, certificates and the time-out are those of `OTEL_EXPORTER_OTLP_…`.
    Raises `NotDeliveredError` if the endpoint does not take them; the library logs why.
    """
    now = time.time_ns()
    metrics = [_metric(family, now) for family in gauges.collect() if family.samples]
    of_scope = [ScopeMetrics(InstrumentationScope(_NAME), metrics, "")]
    sent = MetricsData([ResourceMetrics(Resource.create({SERVICE_NAME: _NAME}), of_scope, "")])
    exporter = OTLPMetricExporter(endpoint=url)
    try:
        result = exporter.export(sent)
    finally:
        exporter.shutdown()
    if result is not MetricExportResult.SUCCESS:
        raise NotDeliveredError(
            f"{url} did not take the metrics: the log above says why. Check that a collector receives OTLP by HTTP "
            "there, and that the URL is complete, such as http://localhost:4318/v1/metrics"
        )


def _metric(family: Family, now: int) -> Metric:
    points = [NumberDataPoint(sample.labels, 0, now, sample.value) for sample in family.samples]
    return Metric(family.name, family.documentation, "", Gauge(points))
