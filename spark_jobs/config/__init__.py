"""Configuration that snapshots do not contain: step, collection interval, thresholds, strategies of groups.
`file.load` reads a file; it is not imported here, as executors need the values but have no YAML.
"""

from spark_jobs.config.model import Configuration, audit_settings, strategy_settings

__all__ = ["Configuration", "audit_settings", "strategy_settings"]
