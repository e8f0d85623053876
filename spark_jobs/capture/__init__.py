"""Records what RocketMQ's own admin client is told by a live cluster, in the recording format."""
