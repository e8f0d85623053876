"""What the snapshots cannot tell: step length, cadence, thresholds, and the strategy settings of groups.

docs/configuration.md and examples/demo.yaml show a file; nothing in it is required. `file.load` reads one; it is not
imported here, because executors need the values but have no YAML.
"""

from spark_jobs.config.groups import GroupSettings, audit_settings, settings_for, strategy_settings
from spark_jobs.config.model import Configuration, GroupEntry, MuteEntry, Quality, QueueList
from spark_jobs.domain.model.thresholds import Thresholds

__all__ = [
    "Configuration",
    "GroupEntry",
    "GroupSettings",
    "MuteEntry",
    "Quality",
    "QueueList",
    "Thresholds",
    "audit_settings",
    "settings_for",
    "strategy_settings",
]
