"""Audits in sessions that somebody else has started, each in a process of its own."""
