import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
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
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageRequestMode;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Clients of a test's cluster, several in one JVM.
 *
 * topics NAMESRV BROKER_ADDRESS TOPIC:QUEUES…; pop NAMESRV BROKER_ADDRESS TOPIC GROUP SHARE; produce NAMESRV TOPIC…;
 * consume NAMESRV GROUP,TOPIC,CLIENT_IP,INSTANCE,KIND…, KIND one of avg, hash, orderly, broadcast, pop. LIVE_KEYS in the environment: ACCESS_KEY:SECRET_KEY.
 */
public class Clients {
    public static void main(String[] args) throws Exception {
        String namesrv = args[1];
        switch (args[0]) {
            case "topics" -> topics(namesrv, args);
            case "pop" -> pop(namesrv, args);
            case "produce" -> produce(namesrv, args);
            default -> consume(namesrv, args);
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

    private static void pop(String namesrv, String[] args) throws Exception {
        DefaultMQAdminExt admin = admin(namesrv);
        admin.setMessageRequestMode(args[2], args[3], args[4], MessageRequestMode.POP, Integer.parseInt(args[5]), 5000);
        System.exit(0);
    }

    private static void produce(String namesrv, String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("live-producer", keys());
        producer.setNamesrvAddr(namesrv);
        producer.setSendMsgTimeout(1000);
        producer.setSendLatencyFaultEnable(true);
        producer.start();
        byte[] body = "message".getBytes(StandardCharsets.UTF_8);
        while (true) {
            for (int i = 2; i < args.length; i++) {
                try {
                    producer.send(new Message(args[i], body));
                } catch (Exception unsent) {
                    // A broker of the topic is down: the next message goes to another one.
                }
            }
            Thread.sleep(50);
        }
    }

    private static void consume(String namesrv, String[] args) throws Exception {
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        for (int i = 2; i < args.length; i++) {
            String[] told = args[i].split(",");
            consumers.add(started(namesrv, told));
        }
        System.out.println("started " + consumers.size());
        Thread.sleep(Long.MAX_VALUE);
    }

    /** On a loaded host the first call may not be answered in time. */
    private static DefaultMQPushConsumer started(String namesrv, String[] told) throws Exception {
        for (int tries = 1; ; tries++) {
            DefaultMQPushConsumer consumer = consumer(namesrv, told[0], told[1], told[2], told[3], told[4]);
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

    private static DefaultMQPushConsumer consumer(
        String namesrv, String group, String topic, String ip, String instance, String kind) throws Exception {
        AllocateMessageQueueStrategy strategy =
            kind.equals("hash") ? new AllocateMessageQueueConsistentHash() : new AllocateMessageQueueAveragely();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group, keys(), strategy);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientIP(ip);
        consumer.setInstanceName(instance);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        consumer.subscribe(topic, "*");
        if (kind.equals("broadcast")) {
            consumer.setMessageModel(MessageModel.BROADCASTING);
        }
        if (kind.equals("pop")) {
            consumer.setClientRebalance(false);
        }
        if (kind.equals("orderly")) {
            consumer.registerMessageListener(
                (MessageListenerOrderly) (messages, context) -> ConsumeOrderlyStatus.SUCCESS);
        } else {
            consumer.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        }
        return consumer;
    }
}
