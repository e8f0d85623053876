"""Root causes of queues that stand or fall behind."""

from spark_jobs.domain.model.window import SECOND
from spark_jobs.domain.rules.rule import Follows, clients, everything, queues

#: A queue stands still or falls behind because of its owner, or because of what its broker gets or cannot give.
FOLLOWS = (
    Follows("GROUP_OFFLINE", everything),
    Follows("GHOST_MEMBER", queues),
    Follows("CLIENT_HUNG", queues),
    Follows("ALLOCATION_DRIFT", queues),
    Follows("BROKER_NOT_READABLE", queues, within=60 * SECOND),
    Follows("DUPLICATE_CLIENT_ID", clients),
    Follows("ORDERLY_LOCK_MISSING", queues),
    Follows("CONSUME_FAILING", clients),
    Follows("CONSUME_FAILING", queues),
    Follows("OFFSET_HELD_BACK", queues),
    Follows("OFFSET_BEYOND_END", queues),
    Follows("SLOW_LISTENER", clients),
    Follows("PRODUCER_SKEW", queues),
    Follows("NEAR_CAPACITY", clients),
    Follows("LONG_PULL_INTERVAL", clients),
)
