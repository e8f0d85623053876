"""The law that every answer about a group and a step names one backlog."""

import json
import re
from collections.abc import Callable

#: docs/backlog.md: queues that cannot be read, those of a new group before it commits, retry topics of POP.
NOT_IN_THE_SERIES = frozenset(("STRANDED_WRITE_QUEUES", "BEGINS_AT_OLDEST", "POP_REDELIVERING"))


def assert_one_backlog(said: Callable[..., str], moment: str) -> int:
    """The most of a step: `status`, `explain`, `what-if` and incidents say the same, or less of a part; the number of
    groups. `said`: the output of a command with these options; `moment`: of `explain`.
    """
    groups = json.loads(said("status", "--all", "--json"))["groups"]
    peaks = {one["consumer_group"]: one["backlog_max"] for one in groups}
    for one in groups:
        group, peak = one["consumer_group"], one["backlog_max"]
        assert one["peak_backlog_messages"] == peak
        assert peak is None or (one["backlog_end"] or 0) <= peak
        story = said("explain", "--group", group, "--at", moment)
        assert not peak or re.search(rf", peak (at least )?{peak:,}[.]", story), story
        shown = said("what-if", "--group", group, "--members", "=1")
        simulated = re.search(r"really happened:.* highest=([\d,]+)", shown)
        if simulated and peak is not None:
            of_group = re.search(r"The peak backlog of the whole group was ([\d,]+):", shown)
            assert (of_group or simulated)[1] == f"{peak:,}"
            assert int(simulated[1].replace(",", "")) <= peak
    for incident in json.loads(said("incidents", "--json"))["incidents"]:
        if incident["peak_backlog_messages"] and incident["rule"] not in NOT_IN_THE_SERIES:
            together = [peaks[group] or 0 for group in incident["consumer_groups"] if group in peaks]
            assert incident["peak_backlog_messages"] <= sum(together), incident
    return len(groups)
