"""RocketMQ's text of a client's threads → the stacks of its consume threads, as the recording has them."""

import re
from collections import Counter
from typing import Any, Final

from spark_jobs.domain.model.message_queue import LONGEST_NAME

#: The line above the frames of a thread, each of which begins with the same name.
#: Source: org.apache.rocketmq.common.UtilAll.jstack, whose names have 40 characters or more.
_THREAD: Final = re.compile(r"(.*)TID: \d+ STATE: ([A-Z_]+)")
#: Of distinct stacks, and of the frames of one, the recording has so many: the most common, and the innermost.
_STACKS, _FRAMES = 20, 60


def consume_stacks(jstack: str, group: str) -> dict[str, Any] | None:
    """How many consume threads the group has, and their distinct stacks, the most common first; None: it has none.
    Source of their names: ConsumeMessageConcurrentlyService; those of old versions, and of POP, lack the group.
    """
    of_group = re.compile(rf"ConsumeMessageThread_({re.escape(group[:100])}_)?\d+ *")
    threads: list[tuple[str, list[str]]] = []
    name, frames = "", list[str]()
    for line in jstack.replace("\r", "").split("\n"):
        if thread := _THREAD.fullmatch(line):
            name, frames = thread[1], []
            if of_group.fullmatch(name):
                threads.append((thread[2], frames))
        elif line and line.startswith(name):
            frames.append(line.removeprefix(name)[:LONGEST_NAME])
    stacks = Counter((state, tuple(frames[:_FRAMES])) for state, frames in threads)
    in_order = sorted(stacks.items(), key=lambda counted: (-counted[1], counted[0]))[:_STACKS]
    distinct = [{"state": state, "threads": count, "frames": frames} for (state, frames), count in in_order]
    return {"threads": len(threads), "stacks": distinct} if threads else None
