"""ENDPOINTS GROUP TOPIC TAG: a push consumer of rocketmq-python-client behind a proxy. It prints the messages of each
second.
"""

import sys
import time

from rocketmq import (  # type: ignore[import-not-found]
    ClientConfiguration,
    ConsumeResult,
    Credentials,
    FilterExpression,
    MessageListener,
    PushConsumer,
)


class Counting(MessageListener):  # type: ignore[misc]
    """Acknowledges every message."""

    def __init__(self) -> None:
        self.got = 0

    def consume(self, _: object) -> object:
        self.got += 1
        return ConsumeResult.SUCCESS


def main(endpoints: str, group: str, topic: str, tag: str) -> None:
    listener = Counting()
    configuration = ClientConfiguration(endpoints, Credentials())
    consumer = PushConsumer(configuration, group, listener, {topic: FilterExpression(tag)})
    consumer.startup()
    print("started 1", flush=True)
    reported = 0
    while True:
        time.sleep(1)
        if messages := listener.got - reported:
            print("got", round(1000 * time.time()), group, consumer.client_id, topic, messages, flush=True)
            reported += messages


if __name__ == "__main__":
    main(*sys.argv[1:])
