"""How published tables are read."""
