"""The kernel beside the oracle, on random histories, and laws that need no oracle."""
