"""Spark gathers what was recorded of each group, and one Arrow function evaluates it."""
