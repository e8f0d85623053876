"""The values that the kernel takes and gives: a group's history, times, thresholds, causes, findings."""
