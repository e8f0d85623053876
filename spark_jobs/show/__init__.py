"""Published rows in, what people and programs read of them out: status, explanations, report, metrics."""
