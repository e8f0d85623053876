import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.header.UnregisterClientRequestHeader;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Clients of a test's cluster, several in one JVM.
 *
 * topics NAMESRV BROKER_ADDRESS TOPIC:QUEUES…; delete-topic NAMESRV BROKER_ADDRESS TOPIC; delete-group NAMESRV
 * BROKER_ADDRESS GROUP; pop NAMESRV BROKER_ADDRESS TOPIC GROUP SHARE; produce NAMESRV TOPIC…;
 * send NAMESRV TOPIC,MESSAGES,AFTER_SECONDS,SECONDS…, a thread each;
 * consume NAMESRV GROUP,TOPIC,CLIENT_IP,INSTANCE,KIND[,THREADS,MS_PER_MESSAGE,PULL_INTERVAL[,INVISIBLE_MS]]…, KIND one
 * of avg, hash, orderly, broadcast, pop; ghost NAMESRV AFTER_SECONDS MEMBER MEMBER…, of one client: one heartbeat
 * registers all of them, after those seconds the first one shuts down, and brokers do not learn of it. LIVE_KEYS in the
 * environment: ACCESS_KEY:SECRET_KEY.
 */
public class Clients {
    private static final byte[] BODY = "message".getBytes(StandardCharsets.UTF_8);
    /** Messages that listeners have returned from, by group and client id. */
    private static final Map<String, LongAdder> CONSUMED = new ConcurrentSkipListMap<>();
    /** What consumers do to their requests; null: nothing. */
    private static RPCHook hook = keys();

    public static void main(String[] args) throws Exception {
        String namesrv = args[1];
        switch (args[0]) {
            case "topics" -> topics(namesrv, args);
            case "delete-topic" -> deleteTopic(namesrv, args);
            case "delete-group" -> deleteGroup(namesrv, args);
            case "pop" -> pop(namesrv, args);
            case "produce" -> produce(namesrv, args);
            case "send" -> send(namesrv, args);
            case "ghost" -> ghost(namesrv, args);
            default -> consume(namesrv, List.of(args).subList(2, args.length));
        }
    }

    private static RPCHook keys() {
        String[] keys = System.getenv().getOrDefault("LIVE_KEYS", "").split(":");
        return keys.length == 2 ? new AclClientRPCHook(new SessionCredentials(keys[0], keys[1])) : null;
    }

    private static DefaultMQAdminExt admin(String namesrv) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(keys(), 5000);
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName("admin-" + ProcessHandle.current().pid());
        admin.start();
        return admin;
    }

    private static void topics(String namesrv, String[] args) throws Exception {
        DefaultMQAdminExt admin = admin(namesrv);
        for (int i = 3; i < args.length; i++) {
            String[] topic = args[i].split(":");
            int queues = Integer.parseInt(topic[1]);
            admin.createAndUpdateTopicConfig(args[2], new TopicConfig(topic[0], queues, queues, 6));
        }
        System.exit(0);
    }

    /** As `mqadmin deleteTopic`, one broker a call. */
    private static void deleteTopic(String namesrv, String[] args) throws Exception {
        DefaultMQAdminExt admin = admin(namesrv);
        admin.deleteTopicInBroker(Set.of(args[2]), args[3]);
        admin.deleteTopicInNameServer(Set.of(namesrv), args[3]);
        System.exit(0);
    }

    /** As `mqadmin deleteSubGroup`, one broker a call. */
    private static void deleteGroup(String namesrv, String[] args) throws Exception {
        admin(namesrv).deleteSubscriptionGroup(args[2], args[3], true);
        System.exit(0);
    }

    private static void pop(String namesrv, String[] args) throws Exception {
        DefaultMQAdminExt admin = admin(namesrv);
        admin.setMessageRequestMode(args[2], args[3], args[4], MessageRequestMode.POP, Integer.parseInt(args[5]), 5000);
        System.exit(0);
    }

    private static void produce(String namesrv, String[] args) throws Exception {
        DefaultMQProducer producer = producer(namesrv);
        producer.setSendLatencyFaultEnable(true);
        while (true) {
            for (int i = 2; i < args.length; i++) {
                try {
                    producer.send(new Message(args[i], BODY));
                } catch (Exception unsent) {
                    // A broker of the topic is down: the next message goes to another one.
                }
            }
            Thread.sleep(50);
        }
    }

    private static void send(String namesrv, String[] args) throws Exception {
        DefaultMQProducer producer = producer(namesrv);
        producer.setSendMsgTimeout(60000);
        List<Thread> threads = new ArrayList<>();
        for (String one : List.of(args).subList(2, args.length)) {
            Thread thread = new Thread(() -> send(producer, one.split(",")));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.exit(0);
    }

    /** By the clock: what is due goes to the topic's next queue, 50 messages at once at most. */
    private static void send(DefaultMQProducer producer, String[] told) {
        int messages = Integer.parseInt(told[1]);
        long begun = System.nanoTime();
        try {
            for (int sent = 0; sent < messages; ) {
                double since = (System.nanoTime() - begun) / 1e9 - Double.parseDouble(told[2]);
                double due = messages * Math.min(since / Double.parseDouble(told[3]), 1);
                List<Message> batch = new ArrayList<>();
                while (sent + batch.size() + 1 <= due && batch.size() < 50) {
                    batch.add(new Message(told[0], BODY));
                }
                if (batch.isEmpty()) {
                    Thread.sleep(10);
                } else {
                    producer.send(batch);
                    sent += batch.size();
                }
            }
        } catch (Exception unsent) {
            unsent.printStackTrace();
            System.exit(1);
        }
        System.out.println("sent " + System.currentTimeMillis() + " " + told[0]);
    }

    private static DefaultMQProducer producer(String namesrv) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("live-producer", keys());
        producer.setNamesrvAddr(namesrv);
        producer.setSendMsgTimeout(1000);
        producer.start();
        return producer;
    }

    private static void ghost(String namesrv, String[] args) throws Exception {
        hook = new LosesUnregistering();
        List<DefaultMQPushConsumer> consumers = started(namesrv, List.of(args).subList(3, args.length));
        MQClientInstance client = consumers.get(0).getDefaultMQPushConsumerImpl().getmQClientFactory();
        List<String> brokers =
            List.of(client.findBrokerAddressInPublish("broker-a"), client.findBrokerAddressInPublish("broker-b"));
        client.getMQClientAPIImpl().getRemotingClient().closeChannels(brokers);
        client.sendHeartbeatToAllBrokerWithLock();
        System.out.println("started " + consumers.size());
        Thread.sleep(Long.parseLong(args[2]) * 1000);
        consumers.get(0).shutdown();
        System.out.println("gone " + System.currentTimeMillis());
        Thread.currentThread().join();
    }

    /** Brokers are asked to unregister no group. */
    private static class LosesUnregistering implements RPCHook {
        @Override
        public void doBeforeRequest(String address, RemotingCommand request) {
            if (request.readCustomHeader() instanceof UnregisterClientRequestHeader header) {
                header.setConsumerGroup(null);
            }
        }

        @Override
        public void doAfterResponse(String address, RemotingCommand request, RemotingCommand response) {
        }
    }

    private static List<DefaultMQPushConsumer> started(String namesrv, List<String> members) throws Exception {
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        for (String member : members) {
            consumers.add(started(namesrv, member.split(",")));
        }
        return consumers;
    }

    /** Says every second how many messages each member has consumed since its start. */
    private static void consume(String namesrv, List<String> members) throws Exception {
        List<DefaultMQPushConsumer> consumers = started(namesrv, members);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> consumers.forEach(DefaultMQPushConsumer::shutdown)));
        System.out.println("started " + consumers.size());
        while (true) {
            Thread.sleep(1000 - System.currentTimeMillis() % 1000);
            CONSUMED.forEach((member, messages) ->
                System.out.println("consumed " + System.currentTimeMillis() + " " + member + " " + messages));
        }
    }

    private static void work(LongAdder consumed, long millis, int messages) {
        try {
            if (millis > 0) {
                Thread.sleep(millis * messages);
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
        consumed.add(messages);
    }

    /** On a loaded host the first call may not be answered in time. */
    private static DefaultMQPushConsumer started(String namesrv, String[] told) throws Exception {
        for (int tries = 1; ; tries++) {
            DefaultMQPushConsumer consumer = consumer(namesrv, told);
            try {
                consumer.start();
                return consumer;
            } catch (Exception late) {
                consumer.shutdown();
                if (tries == 5) {
                    throw late;
                }
                Thread.sleep(2000);
            }
        }
    }

    private static DefaultMQPushConsumer consumer(String namesrv, String[] told) throws Exception {
        String kind = told[4];
        boolean isPaced = told.length > 5;
        int threads = isPaced ? Integer.parseInt(told[5]) : 1;
        long millis = isPaced ? Long.parseLong(told[6]) : 0;
        AllocateMessageQueueStrategy strategy =
            kind.equals("hash") ? new AllocateMessageQueueConsistentHash() : new AllocateMessageQueueAveragely();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(told[0], hook, strategy);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientIP(told[2]);
        consumer.setInstanceName(told[3]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        consumer.setPullInterval(isPaced ? Long.parseLong(told[7]) : 0);
        consumer.subscribe(told[1], "*");
        if (kind.equals("broadcast")) {
            consumer.setMessageModel(MessageModel.BROADCASTING);
        }
        if (told.length > 8) {
            consumer.setPopInvisibleTime(Long.parseLong(told[8]));
        }
        if (kind.equals("pop")) {
            consumer.setClientRebalance(false);
        }
        LongAdder consumed = CONSUMED.computeIfAbsent(told[0] + " " + told[2] + "@" + told[3], member -> new LongAdder());
        if (kind.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                work(consumed, millis, messages.size());
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                work(consumed, millis, messages.size());
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        return consumer;
    }
}
