"""The process around a command: its Spark session, what executors get, temporary files, faults in a sentence."""
