"""Texts about a consumer group at one moment, from published rows. Plain Python, no Spark."""
