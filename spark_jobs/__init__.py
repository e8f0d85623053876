"""The audit: from recorded snapshots to published findings. `docs/architecture.md` is the map."""
