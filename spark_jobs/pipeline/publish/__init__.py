"""From audited frames to published tables: claimed, staged, then replaced step by step."""
