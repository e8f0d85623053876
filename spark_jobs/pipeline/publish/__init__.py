"""Rows of the output tables, from evaluated steps to published tables: claimed, staged, then replaced step by step."""
