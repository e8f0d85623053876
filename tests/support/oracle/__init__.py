"""The oracle: what an audit must say of a group, by brute force. Slow, and meant to be obviously right.

It looks at all snapshots at every moment, asks every client by itself what it takes (`client.allocate`, which
RocketMQ's own vectors prove), and keeps nothing between two questions. Of the kernel it knows values only: queues,
strategies with their settings, and the names of the causes. It imports none of its decisions.

`snapshots` is what a recorder saw; `timeline` (with `views` and `members`) the rebalance intervals; `ownership` who
owns each queue; `moves` why an interval began and what that moved; `progress` (with `verdicts`) what the offset
samples say; `status` the sums of a group. Times are microseconds since 1970, None is unknown.
"""
