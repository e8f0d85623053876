"""What was recorded of one consumer group in, its rebalance intervals, owners, progress and verdicts out."""
