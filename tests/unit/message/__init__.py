"""The outcome of a message."""
