"""The calls of one started admin client of RocketMQ, in the JVM of `java_admin`."""

from collections.abc import Callable, Mapping
from typing import Any

from spark_jobs.capture.calls import Call, CallError, Request

#: How long (ms) a call may take: RocketMQ's own default for its clients.
TIMEOUT_MS = 3000
#: RequestCode.GET_ALL_MESSAGE_REQUEST_MODE, by which replicas ask their master; the admin client has no method for it.
_GET_ALL_MESSAGE_REQUEST_MODE = 402
#: RequestCode.GET_BROKER_CLUSTER_INFO, GET_ROUTEINFO_BY_TOPIC: the admin client cannot ask one named name server.
_GET_BROKER_CLUSTER_INFO = 106
_GET_ROUTEINFO_BY_TOPIC = 105
#: So many time-outs in a row, without any answer between them, say that a connection is dead.
_DEAD_AFTER = 3


class JavaCalls:
    """A `DefaultMQAdminExt`, which has one connection to each server. Raises what py4j raises."""

    def __init__(self, jvm: Any, admin: Any) -> None:
        self._admin, self._jvm = admin, jvm
        manager = jvm.org.apache.rocketmq.client.impl.MQClientManager.getInstance()
        # The admin client's own connection to the brokers: it asks the broker that is named, not one of the route's.
        self._api = manager.getOrCreateMQClientInstance(admin).getMQClientAPIImpl()
        # py4j finds the first static method of a name; an instance's own one, like `toJson`, needs an instance.
        self._json = jvm.org.apache.rocketmq.remoting.protocol.body.KVTable()
        self._timeouts: dict[str, int] = {}
        self._asks: Mapping[Request, Callable[[Call], str]] = {
            Request.BROKERS: self._brokers,
            Request.BROKER_VERSION: lambda call: admin.fetchBrokerRuntimeStats(call.called.address).toJson(),
            Request.GROUPS: self._groups,
            Request.REQUEST_MODES: lambda call: self._invoked(call, _GET_ALL_MESSAGE_REQUEST_MODE, None),
            Request.ROUTE: lambda call: admin.examineTopicRouteInfo(call.topic).toJson(),
            Request.SERVER_ROUTE: self._server_route,
            Request.TOPIC_CONFIG: lambda call: self._json.toJson(
                admin.examineTopicConfig(call.called.address, call.topic), False
            ),
            Request.CONNECTION: self._connections,
            Request.STATS: self._stats,
            Request.TOPIC_STATS: lambda call: admin.examineTopicStats(call.called.address, call.topic).toJson(),
            Request.RUNNING: lambda call: self._running_info(call, False).toJson(),
            Request.STACKS: lambda call: self._running_info(call, True).getJstack() or "",
        }

    def ask(self, call: Call) -> str:
        """See `Admin`."""
        text = str(self._asks[call.request](call))
        self._timeouts.pop(call.called.address, None)
        return text

    def timed_out(self, call: Call) -> None:
        """Close a connection after several unanswered calls in a row; one late answer, or a client's, is no reason."""
        if call.request.is_of_client:
            return
        address = call.called.address
        self._timeouts[address] = self._timeouts.get(address, 0) + 1
        if self._timeouts[address] >= _DEAD_AFTER:
            del self._timeouts[address]
            addresses = self._jvm.java.util.List.of(address) if address else self._admin.getNameServerAddressList()
            self._api.getRemotingClient().closeChannels(addresses)

    def _brokers(self, call: Call) -> str:
        if call.called.address:
            return self._invoked(call, _GET_BROKER_CLUSTER_INFO, None)
        return str(self._admin.examineBrokerClusterInfo().toJson())

    def _groups(self, call: Call) -> str:
        wrapper = self._admin.getAllSubscriptionGroup(call.called.address, TIMEOUT_MS)
        return str(self._jvm.java.lang.String.join("\n", wrapper.getSubscriptionGroupTable().keySet()))

    def _connections(self, call: Call) -> str:
        return str(self._api.getConsumerConnectionList(call.called.address, call.group, TIMEOUT_MS).toJson())

    def _stats(self, call: Call) -> str:
        stats = self._admin.examineConsumeStats(call.called.address, call.group, call.topic or None, TIMEOUT_MS)
        return str(stats.toJson())

    def _running_info(self, call: Call, with_stacks: bool) -> Any:
        address = call.called.address
        return self._api.getConsumerRunningInfo(address, call.group, call.client, with_stacks, TIMEOUT_MS)

    def _server_route(self, call: Call) -> str:
        header = self._jvm.org.apache.rocketmq.remoting.protocol.header.namesrv.GetRouteInfoRequestHeader()
        header.setTopic(call.topic)
        return self._invoked(call, _GET_ROUTEINFO_BY_TOPIC, header)

    def _invoked(self, call: Call, code: int, header: Any) -> str:
        command = self._jvm.org.apache.rocketmq.remoting.protocol.RemotingCommand
        request = command.createRequestCommand(code, header)
        answer = self._api.getRemotingClient().invokeSync(call.called.address, request, TIMEOUT_MS)
        if answer.getCode() != 0:
            raise CallError(f"MQBrokerException CODE: {answer.getCode()}  DESC: {answer.getRemark()}")
        return bytes(answer.getBody() or b"").decode()
