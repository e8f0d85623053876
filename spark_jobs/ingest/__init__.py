"""RocketMQ's own bodies → rows of the source tables, line by line, nothing lost; few modules use Spark."""
