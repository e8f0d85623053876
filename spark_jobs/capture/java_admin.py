"""RocketMQ's official admin client, in a JVM of its own: the one place that knows py4j."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError, Py4JJavaError

from spark_jobs.capture.access import Credentials
from spark_jobs.capture.calls import Call, CallError, Request
from spark_jobs.errors import CaptureError

#: How long (ms) a call may take: RocketMQ's own default for its clients.
TIMEOUT_MS = 3000
#: RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, by which replicas ask their master; the admin client has no method for it.
_GET_ALL_MESSAGE_REQUEST_MODE = 402

_JAVA_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    # Netty, as RocketMQ uses it, on Java 17.
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
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
    """`Admin` by `DefaultMQAdminExt`; the JVM ends with this process, however that ends."""

    def __init__(self, gateway: JavaGateway, admin: Any) -> None:
        self._gateway, self._admin, self._jvm = gateway, admin, gateway.jvm
        manager = self._jvm.org.apache.rocketmq.client.impl.MQClientManager.getInstance()
        # The admin client's own connection to the brokers: it asks the broker that is named, not one of the route's.
        self._api = manager.getOrCreateMQClientInstance(admin).getMQClientAPIImpl()
        # py4j looks a static method up by its name: it takes the first of that name, in the order that this JVM happens
        # to have. Where an instance has another one, like `toJson`, it must be called on an instance.
        self._json = self._jvm.org.apache.rocketmq.remoting.protocol.body.KVTable()
        self._asks: Mapping[Request, Callable[[Call], str]] = {
            Request.BROKERS: lambda _: admin.examineBrokerClusterInfo().toJson(),
            Request.GROUPS: self._groups,
            Request.REQUEST_MODES: self._request_modes,
            Request.ROUTE: lambda call: admin.examineTopicRouteInfo(call.topic).toJson(),
            Request.TOPIC_CONFIG: self._topic_config,
            Request.CONNECTION: self._connections,
            Request.STATS: self._stats,
            Request.TOPIC_STATS: lambda call: admin.examineTopicStats(call.called.address, call.topic).toJson(),
            Request.RUNNING: self._running,
        }

    def ask(self, call: Call) -> str:
        """As `Admin` says; raises `CaptureError` where the JVM is gone."""
        try:
            return str(self._asks[call.request](call))
        except Py4JJavaError as error:
            raise CallError(_text(error.java_exception)) from None
        except (Py4JError, OSError) as error:
            raise CaptureError(f"the JVM of RocketMQ's admin client has ended: {error}") from None

    def version(self) -> str:
        """As `Admin` says."""
        version = self._jvm.org.apache.rocketmq.common.MQVersion
        return str(version.getVersionDesc(version.CURRENT_VERSION))

    def close(self) -> None:
        """Ends the JVM."""
        self._gateway.shutdown()

    def _groups(self, call: Call) -> str:
        wrapper = self._admin.getAllSubscriptionGroup(call.called.address, TIMEOUT_MS)
        return str(self._jvm.java.lang.String.join("\n", wrapper.getSubscriptionGroupTable().keySet()))

    def _topic_config(self, call: Call) -> str:
        config = self._admin.examineTopicConfig(call.called.address, call.topic)
        return str(self._json.toJson(config, False))

    def _connections(self, call: Call) -> str:
        return str(self._api.getConsumerConnectionList(call.called.address, call.group, TIMEOUT_MS).toJson())

    def _stats(self, call: Call) -> str:
        stats = self._admin.examineConsumeStats(call.called.address, call.group, call.topic or None, TIMEOUT_MS)
        return str(stats.toJson())

    def _running(self, call: Call) -> str:
        address = call.called.address
        return str(self._api.getConsumerRunningInfo(address, call.group, call.client, False, TIMEOUT_MS).toJson())

    def _request_modes(self, call: Call) -> str:
        command = self._jvm.org.apache.rocketmq.remoting.protocol.RemotingCommand
        request = command.createRequestCommand(_GET_ALL_MESSAGE_REQUEST_MODE, None)
        answer = self._api.getRemotingClient().invokeSync(call.called.address, request, TIMEOUT_MS)
        if answer.getCode() != 0:
            raise CallError(f"MQBrokerException CODE: {answer.getCode()}  DESC: {answer.getRemark()}")
        return bytes(answer.getBody()).decode()


def start(cluster: ClusterAddress, jars: Path) -> JavaAdmin:
    """A JVM with a started admin client; raises `CaptureError`."""
    options = [*_JAVA_OPTIONS, f"-Drocketmq.namesrv.addr={cluster.namesrv}"]
    if cluster.tls_config:
        options += _tls_options(cluster.tls_config)
    gateway = _launched(jars, options)
    try:
        return JavaAdmin(gateway, _started(gateway.jvm, cluster))
    except Py4JError as error:
        cause = _text(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
        gateway.shutdown()
        raise CaptureError(f"RocketMQ's admin client does not start: {cause}") from None


def _tls_options(file: Path) -> list[str]:
    """RocketMQ trusts every server where the file is not there, and by itself (`TlsSystemConfig`): what it takes for
    granted is turned round, and the file may turn it back. Raises `CaptureError`.
    """
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


def _started(jvm: Any, cluster: ClusterAddress) -> Any:
    made, keys = jvm.org.apache.rocketmq.tools.admin.DefaultMQAdminExt, cluster.credentials
    acl = jvm.org.apache.rocketmq.acl.common
    # A null among the arguments would name another constructor.
    hooks = [acl.AclClientRPCHook(acl.SessionCredentials(keys.access_key, keys.secret_key))] if keys else []
    admin = made(*hooks, TIMEOUT_MS)
    admin.setNamesrvAddr(cluster.namesrv)
    admin.setInstanceName(f"rebalance-audit-{os.getpid()}")
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
