import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * RocketMQ's own allocation, called as often as a fleet's clients would call it: once per snapshot, client and topic.
 *
 * <p>Arguments: the file of states, AVG or CONSISTENT_HASH, and into how many rounds the snapshots are divided. A line
 * of the file: how many snapshots showed the state, the group, the topic, its client ids (with repeats), its queues as
 * broker#count; separated by tabs, and within a field by spaces. All of it is in memory before the clock starts. One
 * round warms up and is not printed. A line out per round: its seconds, its calls, and a sum over all it was given,
 * which keeps the compiler from leaving the work out.
 */
public class AllocationLoop {
    private record State(long snapshots, String group, List<MessageQueue> queues, List<String> clients) {}

    public static void main(String[] arguments) throws Exception {
        List<State> states = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            states.add(parsed(line.split("\t", -1)));
        }
        AllocateMessageQueueStrategy strategy = arguments[1].equals("AVG")
            ? new AllocateMessageQueueAveragely() : new AllocateMessageQueueConsistentHash();
        int rounds = Integer.parseInt(arguments[2]);
        round(strategy, states, 0, rounds);
        for (int number = 0; number < rounds; number++) {
            System.out.println(round(strategy, states, number, rounds));
        }
    }

    /** Client ids and queues in the order that a client gives them: it sorts both first. */
    private static State parsed(String[] fields) {
        List<String> clients = new ArrayList<>(List.of(fields[3].split(" ")));
        List<MessageQueue> queues = new ArrayList<>();
        for (String broker : fields[4].split(" ")) {
            int count = broker.lastIndexOf('#');
            for (int id = 0; id < Integer.parseInt(broker.substring(count + 1)); id++) {
                queues.add(new MessageQueue(fields[2], broker.substring(0, count), id));
            }
        }
        Collections.sort(clients);
        Collections.sort(queues);
        return new State(Long.parseLong(fields[0]), fields[1], queues, clients);
    }

    private static String round(AllocateMessageQueueStrategy strategy, List<State> states, int number, int rounds) {
        long calls = 0;
        long sum = 0;
        long began = System.nanoTime();
        for (State state : states) {
            long until = state.snapshots * (number + 1) / rounds;
            for (long snapshot = state.snapshots * number / rounds; snapshot < until; snapshot++) {
                for (String client : state.clients) {
                    List<MessageQueue> share = strategy.allocate(state.group, client, state.queues, state.clients);
                    sum = sum * 31 + share.size() + (share.isEmpty() ? 0 : share.get(0).getQueueId());
                    calls++;
                }
            }
        }
        return (System.nanoTime() - began) / 1e9 + " " + calls + " " + sum;
    }
}
