"""RocketMQ's own logs → a recording of the time that they cover."""
