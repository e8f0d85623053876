"""One consumer group at one moment, told in sentences: published rows in, text out. Plain Python, no Spark."""
