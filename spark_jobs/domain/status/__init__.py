"""How a group fared in a step: its backlog, what limited it, how near it was to its capacity."""
