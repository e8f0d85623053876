"""From the recording of one consumer group to its rebalance intervals, owners, progress and verdicts."""
