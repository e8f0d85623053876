"""Messages that come again because listeners take longer than they are invisible.

`python -m tests.end_to_end.live.redelivery FOLDER` records a cluster of POP groups for some minutes; one of them does.
"""

import sys
import time
from pathlib import Path

from tests.end_to_end.live import scenario
from tests.end_to_end.live.cluster import cluster

#: The revive topics are fed by brokers' timers.
TIMERS = "timerWheelEnable=true\n"
TOPICS = ("late-topic", "timely-topic")
#: As `Clients.java` takes them: 20 threads, milliseconds a message, no pull interval, milliseconds invisible.
MEMBERS = (
    "late-service,late-topic,10.9.1.1,1,pop,20,15000,0,10000",
    "late-service,late-topic,10.9.1.2,1,pop,20,15000,0,10000",
    "timely-service,timely-topic,10.9.2.1,1,pop,20,100,0,60000",
    "timely-service,timely-topic,10.9.2.2,1,pop,20,100,0,60000",
)
SECONDS = 210


def main(out: Path) -> None:
    """Each group gets a message a second."""
    (out / "cluster").mkdir(parents=True)
    with cluster(out / "cluster", TIMERS) as made:
        made.start_proxy()
        made.admin("topics", *(f"{topic}:4" for topic in TOPICS))
        for topic in TOPICS:
            made.admin("pop", topic, topic.replace("topic", "service"), "1")
        made.consumers("members", MEMBERS)
        capture = scenario.start_capture(made, out / "recordings")
        made.clients("sender", "send", [f"{topic},{SECONDS},0,{SECONDS}" for topic in TOPICS])
        time.sleep(SECONDS)
        scenario.stop_capture(capture)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
