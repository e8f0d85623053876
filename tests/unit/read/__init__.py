"""Readers of published tables."""
