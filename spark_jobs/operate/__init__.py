"""Commands that keep a warehouse: backfill, late data, maintenance, upgrades, verification, notifications."""
