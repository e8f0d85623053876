"""The command line: text → values → one job → exit code, and what a terminal shows."""
