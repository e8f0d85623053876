"""Set-up, once: Java, Delta's jars, the archive of Java's classes."""
