"""From snapshots to rebalance intervals and who owned which queue in them.

`history` is the way, step by step. `steps` gives every audit step its own snapshots, `spans` compresses them to their
changes, `clients` and `members` tell what the clients said of themselves, `views` merges what the brokers said,
`queues` lists those of a route, `status` tells what can be replayed, `intervals` cuts the time. `strategies` (with
`hash_ring` and `rooms`) and `ownership` replay an allocation, `states` each distinct one once. `pop` is what a broker
assigns; `inputs` and `java` are what expressions are written with.
"""
