// ENDPOINTS GROUP TOPIC TAG: a push consumer of rocketmq-client-nodejs behind a proxy. It prints a line for every message
// that the listener got, and the messages of each second. SIGTERM shuts it down.
const { ConsumeResult, FilterExpression, PushConsumer } = require('rocketmq-client-nodejs');

const [endpoints, group, topic, tag] = process.argv.slice(2);
let got = 0;
const consumer = new PushConsumer({
  endpoints,
  namespace: '',
  consumerGroup: group,
  subscriptions: new Map([[topic, new FilterExpression(tag)]]),
  messageListener: {
    consume(message) {
      got += 1;
      // A receipt handle names the broker and its queue.
      const [broker, queue] = message.receiptHandle.split(' ').slice(5);
      console.log('message', Date.now(), message.topic, `${broker}:${queue}`, message.offset);
      return ConsumeResult.SUCCESS;
    },
  },
});

function report() {
  if (got > 0) {
    console.log('got', Date.now(), group, consumer.clientId, topic, got);
    got = 0;
  }
}

consumer.startup().then(() => {
  console.log('started 1');
  setInterval(report, 1000);
});
process.on('SIGTERM', () => consumer.shutdown().then(() => process.exit()));
