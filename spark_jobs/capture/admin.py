"""What capture asks of a cluster: texts in, texts out. `java_admin` is the real one."""

from __future__ import annotations

from typing import Protocol

from spark_jobs.capture.calls import Call


class CallError(Exception):
    """A call that brought no answer, or a refusal: `<simple name of Java's exception> <its message>`."""


class Admin(Protocol):
    """The admin client of one cluster; used by several threads at once."""

    def ask(self, call: Call) -> str:
        """RocketMQ's own text, or `CallError`.

        `BROKERS`: ClusterInfo · `GROUPS`: names, one a line · `ROUTE`, `CONNECTION`, `STATS`, `TOPIC_STATS` and
        `TOPIC_CONFIG` (of one broker each) and `RUNNING`: toJson of the answer · `REQUEST_MODES`: as in the broker's
        messageRequestMode.json.
        """

    def version(self) -> str:
        """Version of the admin client, such as V5_4_0."""

    def close(self) -> None:
        """Ends it."""
