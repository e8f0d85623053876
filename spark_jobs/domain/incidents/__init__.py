"""Published findings → incidents: what people are notified about, once, from its beginning to its end."""
