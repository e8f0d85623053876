"""The Python API: open a warehouse and ask it; the answers are Arrow tables and frozen dataclasses."""
