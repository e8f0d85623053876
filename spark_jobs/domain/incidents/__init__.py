"""Published findings → incidents: what a person is told of, once, from its beginning to its end."""
