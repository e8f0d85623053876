// ENDPOINTS GROUP TOPIC TAG: a push consumer of rocketmq-client-nodejs behind a proxy. It prints the messages of each
// second.
const { ConsumeResult, FilterExpression, PushConsumer } = require('rocketmq-client-nodejs');

const [endpoints, group, topic, tag] = process.argv.slice(2);
let got = 0;
const consumer = new PushConsumer({
  endpoints,
  namespace: '',
  consumerGroup: group,
  subscriptions: new Map([[topic, new FilterExpression(tag)]]),
  messageListener: {
    consume() {
      got += 1;
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
