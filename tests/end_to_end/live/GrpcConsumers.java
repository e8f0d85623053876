import java.time.Duration;
import java.util.Collections;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;

/** ENDPOINTS GROUP TOPIC COUNT: so many push consumers of a proxy. */
public class GrpcConsumers {
    public static void main(String[] args) throws Exception {
        ClientServiceProvider provider = ClientServiceProvider.loadService();
        ClientConfiguration configuration =
            ClientConfiguration.newBuilder().setEndpoints(args[0]).enableSsl(false)
                .setRequestTimeout(Duration.ofSeconds(20)).build();
        for (int i = 0; i < Integer.parseInt(args[3]); i++) {
            provider.newPushConsumerBuilder()
                .setClientConfiguration(configuration)
                .setConsumerGroup(args[1])
                .setSubscriptionExpressions(Collections.singletonMap(args[2], FilterExpression.SUB_ALL))
                .setMessageListener(message -> ConsumeResult.SUCCESS)
                .build();
        }
        System.out.println("started " + args[3]);
        Thread.sleep(Long.MAX_VALUE);
    }
}
