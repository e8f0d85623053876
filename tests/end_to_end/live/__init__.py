"""A real cluster on loopback, recorded, ingested, audited: `make live`."""
