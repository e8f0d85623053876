"""Python's way to every answer: a warehouse is opened and asked; Arrow tables and frozen dataclasses come out.

The command line is a client of it.
"""
