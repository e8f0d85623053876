"""RocketMQ's own bodies → rows of the source tables, line by line, nothing lost; only `insert` uses Spark."""
