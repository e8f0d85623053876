"""Parts that a warehouse on S3 needs besides Spark and Delta."""
