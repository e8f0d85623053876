"""Airflow's scheduler, DAG processor, triggerer and API server, as `airflow standalone` starts them."""

import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psutil  # type: ignore[import-untyped]
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_fixed

from tests.end_to_end.dags.conftest import Airflow, started

#: A task whose supervisor is gone is tried again after so long; Airflow's own value is 300.
_HEARTBEAT_TIMEOUT_SECONDS = 20


@dataclass(frozen=True)
class RunningAirflow:
    """What its REST API, which its web pages use too, is asked and told of one DAG; a command of Airflow takes 6 s of a
    core.
    """

    url: str
    dag: str = "rebalance_audit_hourly"

    def api(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Raises `AssertionError` with what it says against it."""
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if not path.startswith("/auth"):
            headers["Authorization"] = f"Bearer {self.api('GET', '/auth/token')['access_token']}"
            path = f"/api/v2{path}"
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def is_healthy(self) -> bool:
        """Whether all four parts run, and have read the DAG."""
        try:
            health = self.api("GET", "/monitor/health")
            self.api("GET", f"/dags/{self.dag}")
        except (urllib.error.URLError, ConnectionError, AssertionError):
            return False
        return all(health[part]["status"] == "healthy" for part in ("scheduler", "dag_processor", "triggerer"))

    def set_variables(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            key = f"rebalance_audit_{name}"
            self.api("PATCH", "/variables", _overwriting({"key": key, "value": value}))

    def connect_spark(self, host: str, **extra: str) -> None:
        """Makes or replaces the connection that the DAGs use."""
        values = {"connection_id": "spark_default", "conn_type": "spark", "host": host, "extra": json.dumps(extra)}
        self.api("PATCH", "/connections", _overwriting(values))

    def unpause(self) -> None:
        self.api("PATCH", f"/dags/{self.dag}", {"is_paused": False})

    def backfill(self, start: str, end: str, at_once: int) -> None:
        """Runs of the intervals that start from `start` to `end`, END included. Airflow on SQLite refuses it, with 503,
        while another of its parts writes.
        """
        body = {"dag_id": self.dag, "max_active_runs": at_once, "from_date": start, "to_date": end}
        is_busy = retry_if_exception_message(match=".*: 503 ")
        for attempt in Retrying(retry=is_busy, wait=wait_fixed(1), stop=stop_after_delay(120)):
            with attempt:
                self.api("POST", "/backfills", body)

    def trigger(self, run_id: str, start: str, end: str) -> None:
        """By hand, for an interval."""
        body = {"dag_run_id": run_id, "logical_date": datetime.now(UTC).isoformat()}
        self.api("POST", f"/dags/{self.dag}/dagRuns", body | {"data_interval_start": start, "data_interval_end": end})

    def runs(self) -> list[str]:
        return [run["dag_run_id"] for run in self.api("GET", f"/dags/{self.dag}/dagRuns")["dag_runs"]]

    def tasks(self, run_id: str) -> dict[str, tuple[str | None, int]]:
        """State, and how often it was tried, of each task of a run."""
        found = self.api("GET", f"/dags/{self.dag}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return {task["task_id"]: (task["state"], task["try_number"]) for task in found}

    def states(self, run_id: str) -> list[str | None]:
        return [state for state, _ in self.tasks(run_id).values()]

    def run_state(self, run_id: str) -> str:
        return str(self.api("GET", f"/dags/{self.dag}/dagRuns/{run_id}")["state"])

    def log(self, run_id: str, task: str, number: int = 1) -> str:
        found = self.api("GET", f"/dags/{self.dag}/dagRuns/{run_id}/taskInstances/{task}/logs/{number}")
        return json.dumps(found["content"], ensure_ascii=False)

    def clear(self, run_id: str, task: str) -> None:
        """The task and those after it are done again."""
        wanted = {"dry_run": False, "dag_run_id": run_id, "task_ids": [task], "include_downstream": True}
        self.api("POST", f"/dags/{self.dag}/clearTaskInstances", wanted | {"only_failed": False})


def _overwriting(entity: Mapping[str, str]) -> dict[str, Any]:
    return {"actions": [{"action": "create", "entities": [entity], "action_on_existence": "overwrite"}]}


#: Works out the command with which Spark is started.
_LAUNCHER = "org.apache.spark.launcher.Main"


def spark_of(run_id: str, task: str) -> list[psutil.Process]:
    """The JVM that does the task of the run, not the one that only works out how to start it."""
    wanted = {"task", task, f"--run={run_id}"}
    javas = [process for process in psutil.process_iter(["name", "cmdline"]) if process.info["name"] == "java"]
    words_of = {process: set(process.info["cmdline"] or ()) for process in javas}
    return [java for java, words in words_of.items() if wanted <= words and _LAUNCHER not in words]


def until(holds: Callable[[], object], seconds: float = 600, every: float = 1) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(every)


@contextmanager
def running(airflow: Airflow) -> Iterator[RunningAirflow]:
    """All processes end with the block; two tasks are done at once. All DAG files must be there."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = airflow.environment() | {
        # Its processes write to one SQLite file: they wait for each other.
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow.home}/airflow.db?timeout=120",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API_AUTH__JWT_SECRET": "secret of a test " * 4,
        "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
        "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
        # The files do not change: reading them again costs seconds of a core.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": str(_HEARTBEAT_TIMEOUT_SECONDS),
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    }
    del environment["AIRFLOW_CONN_SPARK_DEFAULT"]
    with (
        (airflow.home / "standalone.log").open("w") as log,
        started("-m", "airflow", "standalone", env=environment, cwd=airflow.home, output=log) as process,
    ):
        found = RunningAirflow(url)
        until(lambda: process.poll() is not None or found.is_healthy())
        assert process.poll() is None, (airflow.home / "standalone.log").read_text()[-5000:]
        yield found


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
