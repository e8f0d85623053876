"""Configuration that snapshots do not contain: step length, collection interval, thresholds, and the strategy settings
of groups.

docs/configuration.md and examples/demo.yaml show a file; nothing in it is required. `file.load` reads one; it is not
imported here, because executors need the values but have no YAML.
"""

from spark_jobs.config.model import Configuration, audit_settings, strategy_settings

__all__ = ["Configuration", "audit_settings", "strategy_settings"]
