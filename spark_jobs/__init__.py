"""The audit: from recorded snapshots to published findings. `CONTRIBUTING.md` is the map."""
