"""What the snapshots cannot tell: step length, cadence, thresholds, and the strategy settings of groups.

docs/configuration.md and examples/demo.yaml show a file; nothing in it is required.
"""

from spark_jobs.config.file import load
from spark_jobs.config.groups import GroupSettings, settings_for
from spark_jobs.config.model import Configuration, GroupEntry, Quality, QueueList, Thresholds

__all__ = [
    "Configuration",
    "GroupEntry",
    "GroupSettings",
    "Quality",
    "QueueList",
    "Thresholds",
    "load",
    "settings_for",
]
