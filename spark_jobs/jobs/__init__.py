"""The steps of the audit, one page each: read, transform, check, write."""
