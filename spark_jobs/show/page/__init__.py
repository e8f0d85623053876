"""The report: what the published tables say of a fleet and its groups, as one page that needs no network."""
