"""For spark-submit, which wants a file."""
