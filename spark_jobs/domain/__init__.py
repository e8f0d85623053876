"""RocketMQ's rules in plain Python: short, obviously right, and the oracle of their Spark twins."""
