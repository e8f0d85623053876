"""The tables of a warehouse: where they are, how Spark and delta-rs read and write them, S3."""
