"""RocketMQ's official admin client, in a JVM of its own: the one place that knows py4j."""

import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError

from spark_jobs.capture.access import Credentials
from spark_jobs.capture.calls import Call, CallError, CallOutcome, outcome_of
from spark_jobs.capture.java_calls import TIMEOUT_MS, JavaCalls
from spark_jobs.errors import CaptureError

_JAVA_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    # Netty, as RocketMQ uses it, on Java 17.
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    # By default the client closes a connection, on which other calls wait, when one answer is late.
    "-Dcom.rocketmq.remoting.client.closeSocketIfTimeout=false",
    # RocketMQ's own log: errors come as exceptions.
    "-Drocketmq.log.level=off",
    f"-Drocketmq.log.root={tempfile.gettempdir()}/rebalance-audit-{os.getuid()}",
)


@dataclass(frozen=True)
class ClusterAddress:
    """How the cluster is reached; `tls_config`: RocketMQ's own file of TLS properties, by which it is verified."""

    namesrv: str
    credentials: Credentials | None = None
    tls: bool = False
    tls_config: Path | None = None


class JavaAdmin:
    """An `Admin` of two `DefaultMQAdminExt`, so that optional calls cannot disturb required ones."""

    def __init__(self, gateway: JavaGateway, started: Callable[[str], Any]) -> None:
        """`started` gives a started client for a use, such as `required`."""
        self._gateway, self._jvm, self._started = gateway, gateway.jvm, started
        self._lock = threading.Lock()
        self._calls = {"required": JavaCalls(self._jvm, started("required"))}

    def ask(self, call: Call) -> str:
        """Make a call, see `Admin`; raises `CaptureError` where the JVM is gone."""
        try:
            return self._answer(self._calls_of(call), call)
        except (Py4JError, OSError) as error:
            raise CaptureError(f"the JVM of RocketMQ's admin client has ended: {error}") from None

    def version(self) -> str:
        """See `Admin`."""
        version = self._jvm.org.apache.rocketmq.common.MQVersion
        return str(version.getVersionDesc(version.CURRENT_VERSION))

    def close(self) -> None:
        """Ends the JVM."""
        self._gateway.shutdown()

    def _calls_of(self, call: Call) -> JavaCalls:
        """The second client starts with the first call that needs it, when who is there is known."""
        use = "required" if call.request.is_required else "beside"
        with self._lock:
            if use not in self._calls:
                self._calls[use] = JavaCalls(self._jvm, self._started(use))
            return self._calls[use]

    @staticmethod
    def _answer(calls: JavaCalls, call: Call) -> str:
        try:
            return calls.ask(call)
        except Py4JJavaError as error:
            text = _text(error.java_exception)
        if outcome_of(text) is CallOutcome.TIMED_OUT:
            calls.timed_out(call)
        raise CallError(text)


def start(cluster: ClusterAddress, jars: Path) -> JavaAdmin:
    """A JVM with a started admin client; raises `CaptureError`."""
    options = [*_JAVA_OPTIONS, f"-Drocketmq.namesrv.addr={cluster.namesrv}"]
    if cluster.tls_config:
        options += _tls_options(cluster.tls_config)
    gateway = _launched(jars, options)
    try:
        return JavaAdmin(gateway, partial(_started, gateway.jvm, cluster))
    except Py4JError as error:
        cause = _text(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
        gateway.shutdown()
        raise CaptureError(f"RocketMQ's admin client does not start: {cause}") from None


def _tls_options(file: Path) -> list[str]:
    """Turn RocketMQ's trust in every server off; the file may turn it on. Raises `CaptureError` if it is unreadable."""
    if not os.access(file, os.R_OK):
        raise CaptureError(f"{file} cannot be read: check its name and permissions")
    return [f"-Dtls.config.file={file}", "-Dtls.test.mode.enable=false", "-Dtls.client.authServer=true"]


def _launched(jars: Path, options: list[str]) -> JavaGateway:
    # `die_on_exit`: Java ends when the pipe to it does. A group of its own: Ctrl-C is for this process alone.
    try:
        return JavaGateway.launch_gateway(
            classpath=f"{jars}/*",
            javaopts=options,
            java_path=None,
            die_on_exit=True,
            create_new_process_group=True,
            enable_auth=True,
        )
    except (OSError, Py4JError, ValueError) as error:
        raise CaptureError(f"Java does not start: {error}") from None


def _started(jvm: Any, cluster: ClusterAddress, use: str) -> Any:
    """An admin client; those of another use have connections of their own."""
    made, keys = jvm.org.apache.rocketmq.tools.admin.DefaultMQAdminExt, cluster.credentials
    acl = jvm.org.apache.rocketmq.acl.common
    # A null among the arguments would name another constructor.
    hooks = [acl.AclClientRPCHook(acl.SessionCredentials(keys.access_key, keys.secret_key))] if keys else []
    admin = made(*hooks, TIMEOUT_MS)
    admin.setNamesrvAddr(cluster.namesrv)
    admin.setInstanceName(f"rebalance-audit-{os.getpid()}-{use}")
    admin.setVipChannelEnabled(False)
    admin.setUseTLS(cluster.tls)
    if cluster.tls:
        # What is wrong with certificates and keys comes out here: the client would go on without TLS.
        jvm.org.apache.rocketmq.remoting.netty.TlsHelper.buildSslContext(True)
    admin.start()
    return admin


def _text(exception: Any) -> str:
    """`<simple name> <message>`, as docs/recording-format.md says of errors; below it RocketMQ only links its FAQ."""
    return f"{exception.getClass().getSimpleName()} {exception.getMessage()}".partition("\n")[0]
