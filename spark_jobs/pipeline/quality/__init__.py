"""Nothing unchecked is published: expectations are looked at in one pass a table, and remembered."""
