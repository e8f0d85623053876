"""From snapshots to rebalance intervals and who owned which queue in them. Read in this order:

`steps` gives every audit step its own snapshots, `spans` compresses them to their changes, `clients` collects what
the clients said of themselves, `views` merges what the brokers said, `intervals` cuts the time, `strategies` and
`ownership` replay each distinct state once.
"""
