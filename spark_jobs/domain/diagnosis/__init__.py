"""Why a queue stands: its facts, each measured once, and the table that gives every combination of them one cause."""
