"""Published tables, read without a JVM where the warehouse is a folder or an object store."""
