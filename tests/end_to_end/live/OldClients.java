import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * Clients of a cluster of any version, by what 4.3.0 and later ones have in common.
 *
 * topics NAMESRV BROKER_ADDRESS TOPIC:READ_QUEUES:WRITE_QUEUES…; reset NAMESRV TOPIC GROUP MILLISECONDS;
 * produce NAMESRV MS_PER_ROUND TOPIC…;
 * consume NAMESRV GROUP,TOPIC,CLIENT_IP,INSTANCE,KIND,TAGS,MS_PER_MESSAGE[,THREADS]…, KIND one of avg, hash, orderly, and
 * one thread by default. Consumers print a line for every change of the queues that they hold, and for every message
 * that a listener got. They start when there is no file `hold` in their home.
 */
public class OldClients {
    public static void main(String[] args) throws Exception {
        List<String> told = List.of(args).subList(2, args.length);
        switch (args[0]) {
            case "topics" -> topics(args[1], told);
            case "reset" -> reset(args[1], told);
            case "produce" -> produce(args[1], told);
            default -> consume(args[1], told);
        }
    }

    private static DefaultMQAdminExt admin(String namesrv) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(5000);
        admin.setNamesrvAddr(namesrv);
        admin.setInstanceName("admin-" + ProcessHandle.current().pid());
        admin.start();
        return admin;
    }

    private static void topics(String namesrv, List<String> told) throws Exception {
        DefaultMQAdminExt admin = admin(namesrv);
        for (String one : told.subList(1, told.size())) {
            String[] topic = one.split(":");
            TopicConfig config =
                new TopicConfig(topic[0], Integer.parseInt(topic[1]), Integer.parseInt(topic[2]), 6);
            admin.createAndUpdateTopicConfig(told.get(0), config);
        }
        System.exit(0);
    }

    /** As `mqadmin resetOffsetByTime`. */
    private static void reset(String namesrv, List<String> told) throws Exception {
        long moment = Long.parseLong(told.get(2));
        System.out.println(admin(namesrv).resetOffsetByTimestamp(told.get(0), told.get(1), moment, true));
        System.exit(0);
    }

    private static void produce(String namesrv, List<String> told) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("live-producer");
        producer.setNamesrvAddr(namesrv);
        producer.setSendMsgTimeout(1000);
        producer.start();
        byte[] body = "message".getBytes(StandardCharsets.UTF_8);
        while (true) {
            for (String topic : told.subList(1, told.size())) {
                try {
                    producer.send(new Message(topic, "A", body));
                } catch (Exception unsent) {
                    unsent.printStackTrace();
                }
            }
            Thread.sleep(Long.parseLong(told.get(0)));
        }
    }

    private static void consume(String namesrv, List<String> members) throws Exception {
        File hold = new File(System.getProperty("user.home"), "hold");
        while (hold.exists()) {
            Thread.sleep(20);
        }
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        for (String member : members) {
            consumers.add(started(namesrv, member.split(",")));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> consumers.forEach(OldClients::shutdown)));
        System.out.println("started " + consumers.size());
        Map<DefaultMQPushConsumer, String> before = new HashMap<>();
        while (true) {
            for (DefaultMQPushConsumer consumer : consumers) {
                String held = queues(consumer);
                if (!held.equals(before.put(consumer, held))) {
                    print("holds", consumer, "* " + held);
                }
            }
            Thread.sleep(250);
        }
    }

    private static void shutdown(DefaultMQPushConsumer consumer) {
        consumer.shutdown();
        print("gone", consumer, "");
    }

    private static void print(String word, DefaultMQPushConsumer consumer, String rest) {
        String id = consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId();
        String line = word + " " + System.currentTimeMillis() + " " + consumer.getConsumerGroup() + " " + id;
        System.out.println((line + " " + rest).trim());
    }

    /** Its process queues, but those of topics that it did not name. */
    private static String queues(DefaultMQPushConsumer consumer) {
        TreeSet<String> held = new TreeSet<>();
        for (MessageQueue queue : consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet()) {
            if (!queue.getTopic().startsWith("%")) {
                held.add(queue.getBrokerName() + ":" + queue.getQueueId());
            }
        }
        return held.isEmpty() ? "-" : String.join(",", held);
    }

    private static DefaultMQPushConsumer started(String namesrv, String[] told) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(told[0]);
        consumer.setNamesrvAddr(namesrv);
        consumer.setClientIP(told[2]);
        consumer.setInstanceName(told[3]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        int threads = told.length > 7 ? Integer.parseInt(told[7]) : 1;
        consumer.setConsumeThreadMin(threads);
        consumer.setConsumeThreadMax(threads);
        consumer.subscribe(told[1], told[5]);
        if (told[4].equals("hash")) {
            consumer.setAllocateMessageQueueStrategy(new AllocateMessageQueueConsistentHash());
        }
        long millis = Long.parseLong(told[6]);
        if (told[4].equals("orderly")) {
            consumer.registerMessageListener(
                (MessageListenerOrderly) (messages, context) -> {
                    print(messages, context.getMessageQueue());
                    return ConsumeOrderlyStatus.SUCCESS;
                });
        } else {
            consumer.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> {
                    print(messages, context.getMessageQueue());
                    work(millis * messages.size());
                    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
                });
        }
        consumer.start();
        return consumer;
    }

    private static void print(List<MessageExt> messages, MessageQueue queue) {
        for (MessageExt message : messages) {
            String place = queue.getBrokerName() + ":" + queue.getQueueId() + " " + message.getQueueOffset();
            System.out.println("message " + System.currentTimeMillis() + " " + message.getTopic() + " " + place);
        }
    }

    private static void work(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
