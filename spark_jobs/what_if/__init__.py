"""The same history, played otherwise: what a group's backlog would have been with other members, strategy or queues."""
