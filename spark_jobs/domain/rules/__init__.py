"""One module per rule, and how rule hits become findings with evidence and roots."""
