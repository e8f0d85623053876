"""One consumer group at one moment, told in words: published rows in, sentences out. Plain Python, no Spark."""
