"""Configuration beyond snapshots. `file.load` reads its file: executors need the values, but have no YAML."""

from spark_jobs.config.model import Configuration, audit_settings, strategy_settings

__all__ = ["Configuration", "audit_settings", "strategy_settings"]
