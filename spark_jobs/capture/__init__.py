"""Recordings of live clusters, by RocketMQ's own admin client."""
