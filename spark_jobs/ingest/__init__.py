"""RocketMQ's own bodies → rows of the source tables: plain Python, line by line, nothing lost."""
