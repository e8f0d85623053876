"""A made fleet, and what it costs to audit it."""
