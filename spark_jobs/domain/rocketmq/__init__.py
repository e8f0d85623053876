"""Computations of RocketMQ: the order of queues, the allocation strategies of each client, POP's assignment."""
